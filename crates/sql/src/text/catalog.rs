//! The names that a text may use: tables and views from a [`Catalog`], functions from this crate and DataFusion.
//!
//! A relation is handed to DataFusion as the schema of its plan; the plan itself rides along in [`RelationSource`], so that a view that is named in a text
//! is inlined as it stands and shares its operators with the view.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, SchemaRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, Result, ScalarValue, TableReference};
use datafusion_expr::planner::{ContextProvider, ExprPlanner, TypePlanner};
use datafusion_expr::{AggregateUDF, Expr, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF};
use datafusion_functions_nested::planner::{FieldAccessPlanner, NestedFunctionPlanner};

use super::aggregates::{AggregatePlanner, aggregate_stub};
use super::operators::OperatorPlanner;
use super::types::Types;
use super::windows::window_stub;
use crate::functions::{known_scalar, scalar_names};
use crate::{NamedFunction, Plan, PlanError};

/// What a text may read.
pub trait Catalog {
    /// The table or view of that name.
    fn relation(&self, name: &str) -> Option<CatalogEntry>;

    /// The names of all tables and views, for hints.
    fn names(&self) -> Vec<String>;

    /// The user's function of that name.
    fn function(&self, name: &str) -> Option<NamedFunction>;
}

/// A table or view.
#[derive(Clone)]
pub struct CatalogEntry {
    /// What reads it.
    pub plan: Plan,
    /// The names of its key columns; none for a view or a bag of rows.
    pub key: Vec<String>,
    /// The defaults of its columns, by name, for INSERT.
    pub defaults: HashMap<String, ScalarValue>,
    /// The parameters without whose values it cannot be read.
    pub parameters: Vec<String>,
}

/// A relation as DataFusion's planner sees it.
pub(crate) struct RelationSource {
    pub(crate) plan: Plan,
    defaults: HashMap<String, Expr>,
}

impl TableSource for RelationSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.plan.schema())
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.defaults.get(column)
    }
}

/// Gives DataFusion's planner what it asks for.
pub(crate) struct Provider<'a> {
    catalog: &'a dyn Catalog,
    options: ConfigOptions,
}

impl<'a> Provider<'a> {
    pub(crate) fn new(catalog: &'a dyn Catalog, options: ConfigOptions) -> Self {
        Self { catalog, options }
    }
}

impl ContextProvider for Provider<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        let table = name.table();
        let entry = if matches!(name.schema(), None | Some("public" | "main")) {
            self.catalog.relation(table)
        } else {
            None
        };
        match entry {
            Some(CatalogEntry { parameters, .. }) if !parameters.is_empty() => {
                let reason = format!(
                    "view '{table}' cannot be read by a query: its rows belong to values of its parameters ({}). Write its query with a parameter of its own",
                    parameters.join(", ")
                );
                let error = PlanError::Refused { name: table.to_owned(), reason };
                Err(DataFusionError::External(Box::new(error)))
            }
            Some(CatalogEntry { plan, defaults, .. }) => {
                let defaults = defaults
                    .into_iter()
                    .map(|(column, value)| (column, Expr::Literal(value, None)))
                    .collect();
                Ok(Arc::new(RelationSource { plan, defaults }))
            }
            None => {
                let error =
                    PlanError::UnknownRelation { name: name.to_string(), choices: self.catalog.names() };
                Err(DataFusionError::External(Box::new(error)))
            }
        }
    }

    fn create_cte_work_table(&self, _name: &str, schema: SchemaRef) -> Result<Arc<dyn TableSource>> {
        Ok(Arc::new(RelationSource { plan: Plan::relation(&schema), defaults: HashMap::new() }))
    }

    fn get_table_function_source(&self, name: &str, _args: Vec<Expr>) -> Result<Arc<dyn TableSource>> {
        let hint = "A table function in FROM must be unnest or generate_series over constants.".to_owned();
        Err(DataFusionError::External(Box::new(PlanError::UnknownFunction { name: name.to_owned(), hint })))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &EXPR_PLANNERS
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::new(Types))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.catalog.function(name).map(|function| function.0).or_else(|| known_scalar(name))
    }

    fn get_higher_order_meta(&self, _name: &str) -> Option<Arc<HigherOrderUDF>> {
        None
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        aggregate_stub(name)
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        window_stub(name)
    }

    fn get_variable_type(&self, _variable_names: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        &self.options
    }

    fn udf_names(&self) -> Vec<String> {
        scalar_names().into_iter().chain(super::macros::names().map(str::to_owned)).collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udaf_names(&self) -> Vec<String> {
        super::aggregates::NAMES.iter().map(|name| (*name).to_owned()).collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        super::windows::NAMES.iter().map(|name| (*name).to_owned()).collect()
    }
}

static EXPR_PLANNERS: LazyLock<Vec<Arc<dyn ExprPlanner>>> = LazyLock::new(|| {
    let mut planners: Vec<Arc<dyn ExprPlanner>> = vec![
        Arc::new(OperatorPlanner),
        Arc::new(AggregatePlanner),
        Arc::new(NestedFunctionPlanner),
        Arc::new(FieldAccessPlanner),
    ];
    planners.push(Arc::new(datafusion_functions::core::planner::CoreFunctionPlanner::default()));
    planners.push(Arc::new(datafusion_functions::datetime::planner::DatetimeFunctionPlanner));
    planners.push(Arc::new(datafusion_functions::unicode::planner::UnicodeFunctionPlanner));
    planners
});
