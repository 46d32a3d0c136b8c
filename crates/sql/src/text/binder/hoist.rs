//! Aggregates of a query that stand in a subquery of it: `SELECT k, (SELECT sum(a.v)) FROM a GROUP BY k`.
//!
//! An aggregate belongs to the nearest query whose columns its arguments read. One that reads only columns of queries around the one in which it stands is computed there,
//! and the subquery reads the value.

use std::sync::Arc;

use arrow_schema::Field;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema, Result};
use datafusion_expr::{Expr, ExprSchemable};

use super::Binder;
use super::scope::Scope;

impl Binder<'_> {
    /// The expressions of a subquery, without the aggregates that belong to queries around it.
    pub(super) fn hoist(&mut self, exprs: Vec<Expr>) -> Result<Vec<Expr>> {
        if self.outer.is_empty() {
            return Ok(exprs);
        }
        let hoisted = |binder: &mut Self, expr: Expr| -> Result<Expr> {
            let replaced = expr.transform_down(|part| {
                let Some(owner) = binder.owner(&part)? else { return Ok(Transformed::no(part)) };
                let column = binder.left_to(owner, part)?;
                Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
            })?;
            Ok(replaced.data)
        };
        exprs.into_iter().map(|expr| hoisted(self, expr)).collect()
    }

    /// The aggregates that subqueries left to the query of this scope.
    pub(super) fn take_hoisted(&mut self, scope: &Scope) -> Vec<(Column, Expr)> {
        let ours = |call: &Expr| call.column_refs().into_iter().any(|column| scope.has(column));
        let (taken, left) = std::mem::take(&mut self.hoisted).into_iter().partition(|(_, call)| ours(call));
        self.hoisted = left;
        taken
    }

    /// The scope that an aggregate belongs to, if it is not the one that is bound now.
    fn owner(&self, part: &Expr) -> Result<Option<usize>> {
        if !matches!(part, Expr::AggregateFunction(_)) || part.any_column_refs() {
            return Ok(None);
        }
        let mut owner = None;
        part.apply(|inner| {
            if let Expr::OuterReferenceColumn(_, column) = inner {
                owner = owner.max(self.outer.iter().rposition(|scope| scope.has(column)));
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(owner)
    }

    /// The value of an aggregate that is computed by the query of another scope.
    fn left_to(&mut self, owner: usize, call: Expr) -> Result<Expr> {
        let scope = &self.outer[owner];
        let local = call.transform_up(|part| match part {
            Expr::OuterReferenceColumn(_, column) if scope.has(&column) => {
                Ok(Transformed::yes(Expr::Column(column)))
            }
            other => Ok(Transformed::no(other)),
        })?;
        let fields = scope.columns.iter().map(|known| {
            let field = known.field.as_ref().clone().with_name(&known.column.name);
            (known.column.relation.clone(), Arc::new(field))
        });
        let mut distinct: Vec<(Option<datafusion_common::TableReference>, Arc<Field>)> = Vec::new();
        for (relation, field) in fields {
            if !distinct.iter().any(|(known, other)| *known == relation && other.name() == field.name()) {
                distinct.push((relation, field));
            }
        }
        let schema = DFSchema::new_with_metadata(distinct, Default::default())?;
        let data_type = local.data.get_type(&schema)?;
        let known =
            self.hoisted.iter().find(|(_, call)| *call == local.data).map(|(column, _)| column.clone());
        let column = known.unwrap_or_else(|| {
            self.left += 1;
            let column = Column::new_unqualified(format!("#outer_agg{}", self.left));
            self.hoisted.push((column.clone(), local.data));
            column
        });
        let field = Arc::new(Field::new(&column.name, data_type, true));
        Ok(Expr::OuterReferenceColumn(field, column))
    }
}
