//! Lowering of joins: every kind is made of the inner join and the semi-join.
//!
//! * Only the columns that the output, the residual or the key need are indexed.
//! * left = inner + (left rows without a match, padded with NULLs); right and full likewise.
//! * Without a residual a row has a match if its key is there: the right side of the semi-join is a trace of keys alone.
//! * With a residual a row has a match if it takes part in the inner join: the right side is then the trace of the rows that do. They have
//!   the product of both weights there, so that their sign is compared with the row's own.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use datafusion_common::ScalarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{Column, Literal};
use datafusion_physical_expr::utils::collect_columns;
use tailrace_circuit::StreamId;
use tailrace_operators::{JoinColumn, JoinSpec, Negate, Participants, Scalar, SemiJoin, SemiSpec};

use crate::lower::{Builder, cheap_first};
use crate::plan_builder::nullable;
use crate::{JoinKind, Plan, PlanError, PlanKind};

/// One input of a join: a stream that holds the needed columns and the key.
#[derive(Clone)]
struct Side {
    stream: StreamId,
    schema: SchemaRef,
    /// The key's columns in the stream.
    key: Vec<usize>,
    /// The needed columns of the plan, ascending, with their place in the stream.
    needed: Vec<(usize, usize)>,
}

impl Side {
    /// The index order: the key, then the other needed columns.
    fn index_columns(&self) -> Vec<usize> {
        let rest: Vec<usize> =
            self.needed.iter().map(|(_, place)| *place).filter(|place| !self.key.contains(place)).collect();
        let mut rest = cheap_first(&self.schema, rest);
        rest.dedup();
        self.key.iter().copied().chain(rest).collect()
    }

    /// Where a needed column stands in the index.
    fn place_in(&self, index: &[usize], column: usize) -> Option<usize> {
        let (_, place) = self.needed.iter().find(|(needed, _)| *needed == column)?;
        index.iter().position(|candidate| candidate == place)
    }

    /// The needed columns' schema, in plan order.
    fn needed_schema(&self) -> Schema {
        Schema::new(
            self.needed
                .iter()
                .map(|(_, place)| Arc::clone(&self.schema.fields()[*place]))
                .collect::<Vec<_>>(),
        )
    }
}

impl Builder<'_> {
    pub(crate) fn lower_join(&mut self, plan: &Plan) -> Result<StreamId, PlanError> {
        let PlanKind::Join { left, right, kind, left_keys, right_keys, residual, output, null_matches } =
            plan.kind()
        else {
            return Err(PlanError::Invalid("not a join".into()));
        };
        let width = left.schema().fields().len();
        // With a residual, rows are told apart by what is gathered of them, so the key must be part of it.
        let told_apart: &[Scalar] = if residual.is_empty() { &[] } else { left_keys };
        let told_apart_right: &[Scalar] = if residual.is_empty() { &[] } else { right_keys };
        let used = used_columns(residual.iter().chain(output));
        let of_left = used.iter().copied().filter(|column| *column < width);
        let of_left = ascending(of_left.chain(used_columns(told_apart.iter())));
        let of_right = used.iter().copied().filter(|column| *column >= width).map(|column| column - width);
        let of_right = ascending(of_right.chain(used_columns(told_apart_right.iter())));
        let left = self.side(left, left_keys, &of_left)?;
        let right = self.side(right, right_keys, &of_right)?;
        let join = JoinParts { left, right, width, residual, null_matches: *null_matches };
        match kind {
            JoinKind::Semi | JoinKind::Anti => {
                let rows = self.matched(&join, *kind == JoinKind::Anti, false, None)?;
                self.finish(rows, &join.left, output, plan)
            }
            kind => {
                let rows = self.paired(&join, *kind)?;
                self.finish_pairs(rows, &join, output, plan)
            }
        }
    }

    /// Inner pairs and, where the kind asks for it, padded rows without a match.
    fn paired(&mut self, join: &JoinParts<'_>, kind: JoinKind) -> Result<StreamId, PlanError> {
        let (keep_left, keep_right) = (
            matches!(kind, JoinKind::Left | JoinKind::Full),
            matches!(kind, JoinKind::Right | JoinKind::Full),
        );
        let (l, r) = (join.left.needed_schema(), join.right.needed_schema());
        let (l, r) = (if keep_right { nullable(&l) } else { l }, if keep_left { nullable(&r) } else { r });
        let schema = Arc::new(numbered(&l, &r));
        let inner = self.inner(join, Arc::clone(&schema))?;
        let mut parts = vec![inner];
        if keep_left {
            let lonely = self.matched(join, true, false, Some(inner))?;
            parts.push(self.pad(lonely, &join.left, &schema, 0)?);
        }
        if keep_right {
            let lonely = self.matched(join, true, true, Some(inner))?;
            parts.push(self.pad(lonely, &join.right, &schema, join.left.needed.len())?);
        }
        if parts.len() == 1 { Ok(inner) } else { self.sum(&parts, schema) }
    }

    fn inner(&mut self, join: &JoinParts<'_>, schema: SchemaRef) -> Result<StreamId, PlanError> {
        let (left_index, right_index) = (join.left.index_columns(), join.right.index_columns());
        let place = |side: &Side, index: &[usize], column| {
            side.place_in(index, column).ok_or_else(|| PlanError::Invalid("a join lost a column".into()))
        };
        let mut gathered = Vec::new();
        for (column, _) in &join.left.needed {
            gathered.push(JoinColumn::Left(place(&join.left, &left_index, *column)?));
        }
        for (column, _) in &join.right.needed {
            gathered.push(JoinColumn::Right(place(&join.right, &right_index, *column)?));
        }
        let residual =
            join.residual.iter().map(|scalar| join.over_needed(scalar, &schema)).collect::<Result<_, _>>()?;
        let output = (0..gathered.len()).collect();
        let key_len = join.left.key.len();
        let left = self.arrange(join.left.stream, left_index, key_len)?;
        let right = self.arrange(join.right.stream, right_index, key_len)?;
        let spec = JoinSpec {
            gathered,
            gathered_schema: Arc::clone(&schema),
            residual,
            output,
            schema,
            null_matches: join.null_matches,
        };
        self.join_streams(left, right, spec)
    }

    /// The rows of one side (its needed columns, in plan order) that have a match, or that have none. `inner` are the pairs, if they are built already.
    fn matched(
        &mut self,
        join: &JoinParts<'_>,
        anti: bool,
        swapped: bool,
        inner: Option<StreamId>,
    ) -> Result<StreamId, PlanError> {
        let (side, other) = if swapped { (&join.right, &join.left) } else { (&join.left, &join.right) };
        if join.residual.is_empty() {
            let keys = (other.stream, other.key.clone());
            return self.semi(side, side.index_columns(), side.key.len(), keys, anti, join.null_matches);
        }
        let pairs = Arc::new(numbered(&join.left.needed_schema(), &join.right.needed_schema()));
        let start = if swapped { join.left.needed.len() } else { 0 };
        // Rows are told apart by all columns that the index holds, so the whole needed row is the key here, NULLs included.
        let columns: Vec<usize> = (start..start + side.needed.len()).collect();
        let index: Vec<usize> = side.needed.iter().map(|(_, place)| *place).collect();
        if self.is_nested() {
            let counted = self.counted_once(join, swapped)?;
            let inner = self.inner(&counted, pairs)?;
            return self.semi(side, index, side.needed.len(), (inner, columns), anti, true);
        }
        let inner = inner.map_or_else(|| self.inner(join, pairs), Ok)?;
        let schema = Arc::new(renamed(&side.needed_schema(), 0));
        let key_len = side.needed.len();
        let left = self.arrange(side.stream, index, key_len)?;
        let right = self.arrange(inner, columns, key_len)?;
        let operator = Participants::new(anti, (0..key_len).collect(), Arc::clone(&schema));
        let stream = self.scope.add_binary(Box::new(operator), left, right, schema)?;
        Ok(self.note(stream))
    }

    /// The join with each row of one side once, whatever its weight is: a row takes part in it with the sum of the weights of its matches.
    fn counted_once<'a>(&mut self, join: &JoinParts<'a>, swapped: bool) -> Result<JoinParts<'a>, PlanError> {
        let (mut left, mut right) = (join.left.clone(), join.right.clone());
        let side = if swapped { &mut right } else { &mut left };
        let schema = self.schema(side.stream)?;
        let positive = self.distinct(side.stream)?;
        let opposite = self.add_unary(Box::new(Negate), side.stream, Arc::clone(&schema))?;
        let negative = self.distinct(opposite)?;
        side.stream = self.sum(&[positive, negative], schema)?;
        let (width, residual, null_matches) = (join.width, join.residual, join.null_matches);
        Ok(JoinParts { left, right, width, residual, null_matches })
    }

    fn semi(
        &mut self,
        side: &Side,
        index: Vec<usize>,
        key_len: usize,
        (keys, key_columns): (StreamId, Vec<usize>),
        anti: bool,
        null_matches: bool,
    ) -> Result<StreamId, PlanError> {
        let output: Vec<usize> =
            side.needed.iter().filter_map(|(column, _)| side.place_in(&index, *column)).collect();
        let schema = Arc::new(renamed(&side.needed_schema(), 0));
        if self.is_nested() {
            return self.semi_nested(side, index, (keys, key_columns), anti, null_matches, schema);
        }
        let left = self.arrange(side.stream, index, key_len)?;
        let right = self.arrange(keys, key_columns, key_len)?;
        let spec = SemiSpec { anti, output, schema: Arc::clone(&schema), null_matches };
        let stream = self.scope.add_binary(Box::new(SemiJoin::new(spec)), left, right, schema)?;
        Ok(self.note(stream))
    }

    /// Inside a recursion: the join with the distinct keys, and for the rows without a match all rows minus these.
    fn semi_nested(
        &mut self,
        side: &Side,
        index: Vec<usize>,
        (keys, key_columns): (StreamId, Vec<usize>),
        anti: bool,
        null_matches: bool,
        schema: SchemaRef,
    ) -> Result<StreamId, PlanError> {
        let key_source = self.schema(keys)?;
        let key_schema = Arc::new(
            key_source.project(&key_columns).map_err(|error| PlanError::Expression(error.to_string()))?,
        );
        let projected = self.map(
            keys,
            key_columns.iter().map(|column| Scalar::column(*column, &key_source)).collect(),
            Arc::clone(&key_schema),
        )?;
        let distinct = self.distinct(projected)?;
        let key_len = key_columns.len();
        let output: Vec<usize> =
            side.needed.iter().filter_map(|(column, _)| side.place_in(&index, *column)).collect();
        let left = self.arrange(side.stream, index, key_len)?;
        let right = self.arrange(distinct, (0..key_len).collect(), key_len)?;
        let columns = output.iter().map(|column| JoinColumn::Left(*column)).collect();
        let spec = JoinSpec { null_matches, ..JoinSpec::new(columns, Arc::clone(&schema)) };
        let matched = self.join_streams(left, right, spec)?;
        if !anti {
            return Ok(matched);
        }
        let all = side.needed.iter().map(|(_, place)| Scalar::column(*place, &side.schema)).collect();
        let all = self.map(side.stream, all, Arc::clone(&schema))?;
        self.subtract(all, matched, schema)
    }

    /// Puts NULLs into the columns of the other side.
    fn pad(
        &mut self,
        rows: StreamId,
        side: &Side,
        schema: &SchemaRef,
        start: usize,
    ) -> Result<StreamId, PlanError> {
        let source = self.schema(rows)?;
        let own = start..start + side.needed.len();
        let column = |index: usize| -> Result<Scalar, PlanError> {
            if own.contains(&index) {
                return Ok(Scalar::column(index - start, &source));
            }
            let null = ScalarValue::try_from(schema.field(index).data_type())?;
            Ok(Scalar::new(Arc::new(Literal::new(null)), &source)?)
        };
        let columns = (0..schema.fields().len()).map(column).collect::<Result<_, _>>()?;
        self.map(rows, columns, Arc::clone(schema))
    }

    /// The stream of a side: the plan's own if its keys are columns, else with the computed keys behind the needed columns.
    fn side(&mut self, plan: &Plan, keys: &[Scalar], used: &[usize]) -> Result<Side, PlanError> {
        let stream = self.lower(plan)?;
        let schema = Arc::clone(plan.schema());
        if let Some(key) = keys.iter().map(Scalar::as_column).collect::<Option<Vec<usize>>>() {
            return Ok(Side {
                stream,
                schema,
                key,
                needed: used.iter().map(|column| (*column, *column)).collect(),
            });
        }
        let mut columns: Vec<Scalar> = used.iter().map(|column| Scalar::column(*column, &schema)).collect();
        columns.extend(keys.iter().cloned());
        let field = |(index, scalar): (usize, &Scalar)| {
            arrow_schema::Field::new(format!("c{index}"), scalar.data_type().clone(), scalar.nullable())
        };
        let mapped = Arc::new(Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>()));
        let stream = self.map(stream, columns, Arc::clone(&mapped))?;
        let key = (used.len()..used.len() + keys.len()).collect();
        let needed = used.iter().enumerate().map(|(place, column)| (*column, place)).collect();
        Ok(Side { stream, schema: mapped, key, needed })
    }

    fn finish(
        &mut self,
        rows: StreamId,
        side: &Side,
        output: &[Scalar],
        plan: &Plan,
    ) -> Result<StreamId, PlanError> {
        let positions: Vec<usize> = side.needed.iter().map(|(column, _)| *column).collect();
        self.finish_over(rows, &positions, output, plan)
    }

    fn finish_pairs(
        &mut self,
        rows: StreamId,
        join: &JoinParts<'_>,
        output: &[Scalar],
        plan: &Plan,
    ) -> Result<StreamId, PlanError> {
        self.finish_over(rows, &join.positions(), output, plan)
    }

    /// Computes the output from rows whose i-th column is the join's `positions[i]`-th.
    fn finish_over(
        &mut self,
        rows: StreamId,
        positions: &[usize],
        output: &[Scalar],
        plan: &Plan,
    ) -> Result<StreamId, PlanError> {
        let source = self.schema(rows)?;
        let columns =
            output.iter().map(|scalar| moved(scalar, positions, &source)).collect::<Result<Vec<_>, _>>()?;
        self.map(rows, columns, Arc::clone(plan.schema()))
    }
}

struct JoinParts<'a> {
    left: Side,
    right: Side,
    /// Columns of the left plan: positions from here on are the right's.
    width: usize,
    residual: &'a [Scalar],
    null_matches: bool,
}

impl JoinParts<'_> {
    /// The join's position of each column of the pairs.
    fn positions(&self) -> Vec<usize> {
        let left = self.left.needed.iter().map(|(column, _)| *column);
        left.chain(self.right.needed.iter().map(|(column, _)| column + self.width)).collect()
    }

    fn over_needed(&self, scalar: &Scalar, schema: &SchemaRef) -> Result<Scalar, PlanError> {
        moved(scalar, &self.positions(), schema)
    }
}

/// The columns that expressions read, ascending.
fn used_columns<'a>(scalars: impl Iterator<Item = &'a Scalar>) -> Vec<usize> {
    ascending(scalars.flat_map(|scalar| collect_columns(scalar.expr())).map(|column: Column| column.index()))
}

fn ascending(columns: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut columns: Vec<usize> = columns.collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// The expression over columns that stand at other places now: old position `positions[i]` is the new column `i`.
fn moved(scalar: &Scalar, positions: &[usize], schema: &SchemaRef) -> Result<Scalar, PlanError> {
    use datafusion_common::tree_node::{Transformed, TreeNode};
    let place =
        |expr: Arc<dyn PhysicalExpr>| {
            let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
            let found = positions.iter().position(|position| *position == column.index());
            let index = found.ok_or_else(|| {
                datafusion_common::DataFusionError::Internal(format!("column {column} is not gathered"))
            })?;
            Ok(Transformed::yes(
                Arc::new(Column::new(schema.field(index).name(), index)) as Arc<dyn PhysicalExpr>
            ))
        };
    let expr = Arc::clone(scalar.expr()).transform_up(place)?.data;
    Ok(Scalar::new(expr, schema)?)
}

/// Both schemas in a row, with names that cannot clash.
fn numbered(left: &Schema, right: &Schema) -> Schema {
    let (left, right) = (renamed(left, 0), renamed(right, left.fields().len()));
    Schema::new(left.fields().iter().chain(right.fields()).cloned().collect::<Vec<_>>())
}

fn renamed(schema: &Schema, start: usize) -> Schema {
    let field = |(index, field): (usize, &arrow_schema::FieldRef)| {
        field.as_ref().clone().with_name(format!("c{}", start + index))
    };
    Schema::new(schema.fields().iter().enumerate().map(field).collect::<Vec<_>>())
}
