//! Expressions: names are replaced by columns of the plan and subqueries by columns that stand for them, DataFusion makes the expression, and the
//! subqueries are put back.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema, DataFusionError, Result, Spans};
use datafusion_expr::expr::{Exists, InSubquery};
use datafusion_expr::logical_plan::Subquery;
use datafusion_expr::{Expr, LogicalPlan};
use datafusion_sql::planner::PlannerContext;
use datafusion_sql::sqlparser::ast::{
    DuplicateTreatment, Expr as SqlExpr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    Query, VisitMut, VisitorMut,
};

use super::scope::Names;
use super::window::opened;
use super::{Binder, normal, refused};
use crate::PlanError;
use crate::text::apply::maybe_null;
use crate::text::planner::external;

impl Binder<'_> {
    /// An expression over the columns of a scope and of the queries around it.
    pub(super) fn expr(&mut self, sql: &SqlExpr, names: &Names<'_>) -> Result<Expr> {
        let mut sql = sql.clone();
        let mut resolver =
            Resolver { binder: self, names, columns: Vec::new(), values: Vec::new(), params: Vec::new() };
        if let ControlFlow::Break(error) = VisitMut::visit(&mut sql, &mut resolver) {
            return Err(error);
        }
        let (columns, values) = (resolver.columns, resolver.values);
        let schema = schema_of(&columns, &values)?;
        let expr = self.to_rel.sql_to_expr(sql, &schema, &mut PlannerContext::new())?;
        put_back(expr, &columns, &values)
    }

    /// The plan of a subquery, which may read the columns of the scope.
    pub(super) fn subquery(&mut self, query: &Query, names: &Names<'_>) -> Result<LogicalPlan> {
        let made = self.made;
        self.outer.push(names.scope.clone());
        let plan = self.query(query);
        self.outer.pop();
        if names.settled {
            self.made = made;
        }
        plan
    }

    /// A column of the scope, or else of the nearest query around it that has it.
    fn resolve(&self, parts: &[String], names: &Names<'_>) -> Result<Option<(Resolved, usize)>> {
        if let Some((found, used)) = names.scope.find(parts)? {
            let resolved =
                Resolved { column: found.column.clone(), field: Arc::clone(&found.field), outer: false };
            return Ok(Some((resolved, used)));
        }
        for scope in self.outer.iter().rev() {
            if let Some((found, used)) = scope.find(parts)? {
                let resolved =
                    Resolved { column: found.column.clone(), field: Arc::clone(&found.field), outer: true };
                return Ok(Some((resolved, used)));
            }
        }
        Ok(None)
    }
}

/// A column that an expression reads.
pub(super) struct Resolved {
    column: Column,
    field: FieldRef,
    outer: bool,
}

/// Replaces names and subqueries in an expression of the text.
pub(super) struct Resolver<'b, 'a, 's> {
    pub(super) binder: &'b mut Binder<'a>,
    pub(super) names: &'s Names<'s>,
    columns: Vec<Resolved>,
    /// What the columns `#value0`, `#value1`, .. stand for, and the types.
    values: Vec<(Expr, DataType)>,
    /// The parameters of the lambdas around.
    params: Vec<Vec<String>>,
}

impl VisitorMut for Resolver<'_, '_, '_> {
    type Break = DataFusionError;

    fn pre_visit_expr(&mut self, expr: &mut SqlExpr) -> ControlFlow<Self::Break> {
        if let SqlExpr::Lambda(lambda) = expr {
            self.params.push(lambda.params.iter().map(|param| normal(&param.name)).collect());
        }
        match self.replacement(expr) {
            Ok(Some(replaced)) => *expr = replaced,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut SqlExpr) -> ControlFlow<Self::Break> {
        if matches!(expr, SqlExpr::Lambda(_)) {
            self.params.pop();
        }
        ControlFlow::Continue(())
    }
}

impl Resolver<'_, '_, '_> {
    fn replacement(&mut self, expr: &mut SqlExpr) -> Result<Option<SqlExpr>> {
        if let Some(spelled) = super::quantified::spelled_out(expr)? {
            *expr = spelled;
        }
        match expr {
            SqlExpr::Identifier(ident) => self.name(std::slice::from_ref(ident)),
            SqlExpr::CompoundIdentifier(idents) => self.name(idents),
            SqlExpr::Subquery(query) => {
                let plan = self.binder.subquery(query, self.names)?;
                let data_type = single_column(&plan)?;
                let subquery = as_subquery(maybe_null(plan)?)?;
                Ok(Some(self.stands_for(Expr::ScalarSubquery(subquery), data_type)))
            }
            SqlExpr::Exists { subquery, negated } => {
                let subquery = as_subquery(self.binder.subquery(subquery, self.names)?)?;
                Ok(Some(self.truth(Expr::Exists(Exists { subquery, negated: *negated }))))
            }
            SqlExpr::InSubquery { expr, subquery, negated } => {
                let value = match super::quantified::row(expr) {
                    Some(row) => {
                        let found = self.binder.row_in(row, subquery, self.names, true)?;
                        if *negated { !found } else { found }
                    }
                    None => {
                        let value = Box::new(self.binder.expr(expr, self.names)?);
                        let plan = self.binder.subquery(subquery, self.names)?;
                        single_column(&plan)?;
                        Expr::InSubquery(InSubquery::new(value, as_subquery(plan)?, *negated))
                    }
                };
                Ok(Some(self.truth(value)))
            }
            SqlExpr::AnyOp { left, compare_op, right, .. } => {
                let value = self.binder.any(left, compare_op, right, self.names)?;
                Ok(Some(self.truth(value)))
            }
            SqlExpr::AllOp { left, compare_op, right } => {
                let value = self.binder.all(left, compare_op, right, self.names)?;
                Ok(Some(self.truth(value)))
            }
            SqlExpr::Function(call) => {
                check_stars(call)?;
                opened(call, self.names.windows)?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// A name: a column or, where there is none, an alias of the SELECT list.
    fn name(&mut self, idents: &[Ident]) -> Result<Option<SqlExpr>> {
        let parts: Vec<String> = idents.iter().map(normal).collect();
        if self.params.iter().flatten().any(|param| *param == parts[0]) || parts[0].starts_with('@') {
            return Ok(None);
        }
        let alias = if parts.len() == 1 { self.names.alias(&parts[0]) } else { None };
        if let Some(value) = alias
            && (self.names.aliases_first || self.names.scope.plain(&parts[0])?.is_none())
        {
            let (value, data_type) = value.clone();
            return Ok(Some(self.stands_for(value, data_type)));
        }
        let Some((resolved, used)) = self.binder.resolve(&parts, self.names)? else {
            let choices = self.names.scope.choices();
            return Err(external(PlanError::UnknownColumn { name: parts.join("."), choices }));
        };
        let mut written = written(&resolved.column);
        written.extend(idents[used..].iter().cloned());
        self.columns.push(resolved);
        Ok(Some(match <[Ident; 1]>::try_from(written) {
            Ok([one]) => SqlExpr::Identifier(one),
            Err(several) => SqlExpr::CompoundIdentifier(several),
        }))
    }

    fn truth(&mut self, value: Expr) -> SqlExpr {
        self.stands_for(value, DataType::Boolean)
    }

    fn stands_for(&mut self, value: Expr, data_type: DataType) -> SqlExpr {
        self.values.push((value, data_type));
        SqlExpr::Identifier(Ident::with_quote('"', value_name(self.values.len() - 1)))
    }
}

/// A subquery for an expression.
pub(super) fn as_subquery(plan: LogicalPlan) -> Result<Subquery> {
    let outer_ref_columns = outer_references(&plan)?;
    Ok(Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Spans::new() })
}

/// The columns of queries around that a plan reads, each once.
pub(super) fn outer_references(plan: &LogicalPlan) -> Result<Vec<Expr>> {
    let mut found: Vec<Expr> = Vec::new();
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                if matches!(part, Expr::OuterReferenceColumn(..)) && !found.contains(part) {
                    found.push(part.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(found)
}

/// The type of the only column.
pub(super) fn single_column(plan: &LogicalPlan) -> Result<DataType> {
    match &plan.schema().fields()[..] {
        [field] => Ok(field.data_type().clone()),
        fields => Err(external(PlanError::Invalid(format!(
            "the subquery must have one column, it has {}: {}",
            fields.len(),
            plan.schema().field_names().join(", ")
        )))),
    }
}

fn value_name(index: usize) -> String {
    format!("#value{index}")
}

fn written(column: &Column) -> Vec<Ident> {
    let table = column.relation.as_ref().map(|relation| Ident::with_quote('"', relation.table()));
    table.into_iter().chain(std::iter::once(Ident::with_quote('"', &column.name))).collect()
}

fn schema_of(columns: &[Resolved], values: &[(Expr, DataType)]) -> Result<DFSchema> {
    let mut fields: Vec<(Option<datafusion_common::TableReference>, FieldRef)> = Vec::new();
    for resolved in columns {
        let (relation, name) = (&resolved.column.relation, &resolved.column.name);
        if !fields.iter().any(|(known, field)| known == relation && field.name() == name) {
            fields.push((relation.clone(), Arc::new(resolved.field.as_ref().clone().with_name(name))));
        }
    }
    for (index, (_, data_type)) in values.iter().enumerate() {
        fields.push((None, Arc::new(Field::new(value_name(index), data_type.clone(), true))));
    }
    DFSchema::new_with_metadata(fields, Default::default())
}

/// Columns of queries around become outer references, columns that stand for a value that value.
fn put_back(expr: Expr, columns: &[Resolved], values: &[(Expr, DataType)]) -> Result<Expr> {
    let replaced = expr.transform_up(|part| {
        let Expr::Column(column) = &part else { return Ok(Transformed::no(part)) };
        let place = column.name.strip_prefix("#value").and_then(|index| index.parse::<usize>().ok());
        if let (None, Some((value, _))) = (&column.relation, place.and_then(|place| values.get(place))) {
            return Ok(Transformed::yes(value.clone()));
        }
        let resolved = columns.iter().find(|resolved| resolved.column == *column);
        Ok(match resolved {
            Some(Resolved { outer: true, field, column }) => {
                Transformed::yes(Expr::OuterReferenceColumn(Arc::clone(field), column.clone()))
            }
            _ => Transformed::no(part),
        })
    })?;
    Ok(replaced.data)
}

/// `count(DISTINCT *)` and `count(t.*)` would be read as `count(*)`.
fn check_stars(call: &Function) -> Result<()> {
    let FunctionArguments::List(list) = &call.args else { return Ok(()) };
    let name = call.name.to_string();
    let is = |wanted: fn(&FunctionArgExpr) -> bool| {
        list.args.iter().any(|arg| matches!(arg, FunctionArg::Unnamed(value) if wanted(value)))
    };
    if is(|value| matches!(value, FunctionArgExpr::QualifiedWildcard(_))) {
        return Err(refused(
            &name,
            format!("{name} of the rows of one table is not supported: name a column"),
        ));
    }
    let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
    if distinct && is(|value| matches!(value, FunctionArgExpr::Wildcard)) {
        let reason = format!("{name}(DISTINCT *) is not supported: count the rows of a SELECT DISTINCT");
        return Err(refused(&name, reason));
    }
    Ok(())
}

/// Conjuncts, each bound by itself: a row that is looked for by IN needs no third truth value there.
impl Binder<'_> {
    pub(super) fn condition(&mut self, sql: &SqlExpr, names: &Names<'_>) -> Result<Expr> {
        use datafusion_sql::sqlparser::ast::BinaryOperator;
        match sql {
            SqlExpr::Nested(inner) => self.condition(inner, names),
            SqlExpr::BinaryOp { left, op: BinaryOperator::And, right } => {
                Ok(self.condition(left, names)?.and(self.condition(right, names)?))
            }
            SqlExpr::InSubquery { expr, subquery, negated: false }
                if let Some(row) = super::quantified::row(expr) =>
            {
                self.row_in(row, subquery, names, false)
            }
            other => self.expr(other, names),
        }
    }
}
