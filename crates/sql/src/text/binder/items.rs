//! The SELECT list: expressions with the names of their columns, and what `*` stands for.

use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion_sql::sqlparser::ast::{
    ExcludeSelectItem, Expr as SqlExpr, Ident, NamedWindowDefinition, ObjectName, ObjectNamePart,
    RenameSelectItem, SelectItem, SelectItemQualifiedWildcardKind, WildcardAdditionalOptions,
};

use super::scope::{Names, Scope, Visible};
use super::{Binder, normal, refused};
use crate::PlanError;
use crate::text::planner::external;

/// The outputs of a SELECT.
#[derive(Default)]
pub(super) struct Items {
    pub(super) exprs: Vec<Expr>,
    pub(super) names: Vec<String>,
    /// Whether an alias gives the name.
    pub(super) given: Vec<bool>,
    /// What is known under an alias of its own.
    pub(super) aliases: Vec<(String, (Expr, DataType))>,
}

impl Binder<'_> {
    pub(super) fn items(
        &mut self,
        list: &[SelectItem],
        plan: &LogicalPlan,
        scope: &Scope,
        windows: &[NamedWindowDefinition],
    ) -> Result<Items> {
        let mut items = Items::default();
        for item in list {
            match item {
                SelectItem::UnnamedExpr(sql) => {
                    let value = self.item(sql, &items, scope, windows)?;
                    items.push(value, output_name(sql), false);
                }
                SelectItem::ExprWithAlias { expr: sql, alias } => {
                    let value = self.item(sql, &items, scope, windows)?;
                    let data_type = value.get_type(plan.schema()).unwrap_or(DataType::Null);
                    let name = normal(alias);
                    items.aliases.push((name.clone(), (value.clone(), data_type)));
                    items.push(value, name, true);
                }
                SelectItem::Wildcard(options) => {
                    let columns: Vec<&Visible> = scope.starred().collect();
                    if columns.is_empty() {
                        return Err(external(PlanError::Invalid("SELECT * needs a relation in FROM".into())));
                    }
                    self.star(&columns, options, scope, windows, &mut items)?;
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    self.star(&of_relation(scope, name)?, options, scope, windows, &mut items)?;
                }
                other => {
                    return Err(external(PlanError::Invalid(format!("this cannot be selected: {other}"))));
                }
            }
        }
        Ok(items)
    }

    /// An expression may use the aliases of those before it, where they hide no column.
    fn item(
        &mut self,
        sql: &SqlExpr,
        before: &Items,
        scope: &Scope,
        windows: &[NamedWindowDefinition],
    ) -> Result<Expr> {
        self.expr(
            sql,
            &Names { scope, aliases: &before.aliases, aliases_first: false, windows, settled: true },
        )
    }

    fn star(
        &mut self,
        columns: &[&Visible],
        options: &WildcardAdditionalOptions,
        scope: &Scope,
        windows: &[NamedWindowDefinition],
        items: &mut Items,
    ) -> Result<()> {
        if options.opt_ilike.is_some() || options.opt_alias.is_some() {
            return Err(refused(
                "*",
                "* takes EXCLUDE, REPLACE and RENAME: ILIKE and an alias are not supported",
            ));
        }
        let excluded = excluded(options);
        let renamed = renamings(options);
        let mut replaced: Vec<(String, &SqlExpr)> = Vec::new();
        if let Some(replace) = &options.opt_replace {
            replaced.extend(replace.items.iter().map(|item| (normal(&item.column_name), &item.expr)));
        }
        let asked = excluded
            .iter()
            .chain(renamed.iter().map(|(name, _)| name))
            .chain(replaced.iter().map(|(name, _)| name));
        for name in asked {
            if !columns.iter().any(|column| column.name == *name) {
                let choices = columns.iter().map(|column| column.name.clone()).collect();
                return Err(external(PlanError::UnknownColumn { name: name.clone(), choices }));
            }
        }
        for column in columns {
            if excluded.contains(&column.name) {
                continue;
            }
            let value = match replaced.iter().find(|(name, _)| *name == column.name) {
                Some((_, sql)) => self.item(sql, items, scope, windows)?,
                None => Expr::Column(column.column.clone()),
            };
            let name = renamed.iter().find(|(name, _)| *name == column.name).map(|(_, name)| name.clone());
            let given = name.is_some();
            items.push(value, name.unwrap_or_else(|| column.name.clone()), given);
        }
        Ok(())
    }
}

impl Items {
    fn push(&mut self, value: Expr, name: String, given: bool) {
        self.exprs.push(value);
        self.names.push(name);
        self.given.push(given);
    }

    /// The output of a name: one that an alias gives comes before a column that has it.
    pub(super) fn place_of(&self, name: &str) -> Option<usize> {
        let places = || (0..self.names.len()).filter(|place| self.names[*place] == name);
        places().find(|place| self.given[*place]).or_else(|| places().next())
    }

    /// Columns as they are.
    pub(super) fn plain(exprs: Vec<Expr>, names: Vec<String>) -> Self {
        let given = vec![false; names.len()];
        Self { exprs, names, given, aliases: Vec::new() }
    }
}

fn of_relation<'s>(scope: &'s Scope, name: &ObjectName) -> Result<Vec<&'s Visible>> {
    let table = name.0.last().and_then(ObjectNamePart::as_ident).map(normal).unwrap_or_default();
    let all = scope.columns.iter().filter(|column| column.table.as_deref() == Some(table.as_str()));
    // A name for a column that has one already is no column of its own.
    let mut columns: Vec<&Visible> = Vec::new();
    for column in all {
        if !columns.iter().any(|known| known.column == column.column) {
            columns.push(column);
        }
    }
    if columns.is_empty() {
        let mut choices: Vec<String> =
            scope.columns.iter().filter_map(|column| column.table.clone()).collect();
        choices.dedup();
        return Err(external(PlanError::UnknownRelation { name: table, choices }));
    }
    Ok(columns)
}

fn excluded(options: &WildcardAdditionalOptions) -> Vec<String> {
    let last =
        |name: &ObjectName| name.0.last().and_then(ObjectNamePart::as_ident).map(normal).unwrap_or_default();
    let mut names: Vec<String> = match &options.opt_exclude {
        None => Vec::new(),
        Some(ExcludeSelectItem::Single(name)) => vec![last(name)],
        Some(ExcludeSelectItem::Multiple(names)) => names.iter().map(last).collect(),
    };
    if let Some(except) = &options.opt_except {
        names.push(normal(&except.first_element));
        names.extend(except.additional_elements.iter().map(normal));
    }
    names
}

fn renamings(options: &WildcardAdditionalOptions) -> Vec<(String, String)> {
    match &options.opt_rename {
        None => Vec::new(),
        Some(RenameSelectItem::Single(one)) => vec![(normal(&one.ident), normal(&one.alias))],
        Some(RenameSelectItem::Multiple(several)) => {
            several.iter().map(|one| (normal(&one.ident), normal(&one.alias))).collect()
        }
    }
}

/// The name of a column without an alias: that of a column, or the text of the expression.
fn output_name(sql: &SqlExpr) -> String {
    match sql {
        SqlExpr::Identifier(name) => normal(name),
        SqlExpr::CompoundIdentifier(parts) => parts.last().map(normal).unwrap_or_default(),
        SqlExpr::Nested(inner) => output_name(inner),
        SqlExpr::Function(call) => {
            let mut call = call.clone();
            for part in &mut call.name.0 {
                if let ObjectNamePart::Identifier(name) = part {
                    *name = Ident::new(normal(name));
                }
            }
            call.to_string()
        }
        other => other.to_string(),
    }
}
