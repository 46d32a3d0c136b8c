//! Conforming: rows as they come are matched to a table's columns by name, cast where nothing can be lost, and checked.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, Scalar, new_null_array};
use arrow_buffer::{BooleanBuffer, ScalarBuffer};
use arrow_cast::display::array_value_to_string;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field};
use arrow_select::zip::zip;
use tailrace_sql::{PlanError, ScalarValue};
use tailrace_trace::{RowComparator, TraceError, external_type, normal_array, normal_type};

use crate::table::Table;
use crate::{EngineError, Operation, OperationKind};

/// The column that carries the weight of raw changes.
pub(crate) const WEIGHT: &str = "_weight";

impl Table {
    /// Refuses rows that no operation of this kind can read: a weight where none is looked at, or two columns of one name.
    pub(crate) fn check_columns(&self, kind: OperationKind, rows: &RecordBatch) -> Result<(), EngineError> {
        let mut seen = HashSet::new();
        for field in rows.schema_ref().fields() {
            if !seen.insert(field.name()) {
                let (table, column) = (self.name.clone(), field.name().clone());
                return Err(EngineError::RepeatedColumn { table, column, given: names(rows) });
            }
        }
        if kind != OperationKind::Weighted && seen.contains(&WEIGHT.to_owned()) {
            return Err(EngineError::StrayWeight { table: self.name.clone(), operation: kind.name() });
        }
        Ok(())
    }

    /// All columns of the layout; those that are not given have their default, or are NULL where they may be.
    pub(crate) fn whole_rows(&self, operation: &Operation) -> Result<Vec<ArrayRef>, EngineError> {
        self.refuse_unknown(&operation.rows)?;
        self.order.iter().map(|column| self.column_or_default(operation, *column)).collect()
    }

    /// The key columns.
    pub(crate) fn keys(&self, rows: &RecordBatch) -> Result<Vec<ArrayRef>, EngineError> {
        self.refuse_unknown(rows)?;
        self.key
            .iter()
            .map(|column| self.given(rows, *column)?.ok_or_else(|| self.missing(rows, *column)))
            .collect()
    }

    /// The columns of the layout that are given, None for the others.
    pub(crate) fn some_columns(&self, operation: &Operation) -> Result<Vec<Option<ArrayRef>>, EngineError> {
        let rows = &operation.rows;
        self.refuse_unknown(rows)?;
        let column = |column: &usize| {
            let field = self.schema.field(*column);
            let Some(given) = rows.column_by_name(field.name()) else { return Ok(None) };
            let array = self.typed(given, field)?;
            self.check_nulls(&array, field, operation.omits(field.name()))?;
            Ok(Some(array))
        };
        self.order.iter().map(column).collect()
    }

    /// The column of weights.
    pub(crate) fn weights(&self, rows: &RecordBatch) -> Result<ScalarBuffer<i64>, EngineError> {
        let field = Field::new(WEIGHT, DataType::Int64, false);
        let Some(column) = rows.column_by_name(WEIGHT) else {
            let given = names(rows);
            return Err(EngineError::MissingColumn {
                table: self.name.clone(),
                column: WEIGHT.to_owned(),
                given,
            });
        };
        Ok(self.conform(column, &field)?.as_primitive::<Int64Type>().values().clone())
    }

    fn refuse_unknown(&self, rows: &RecordBatch) -> Result<(), EngineError> {
        for field in rows.schema_ref().fields() {
            if field.name() != WEIGHT && self.schema.index_of(field.name()).is_err() {
                let (table, column) = (self.name.clone(), field.name().clone());
                return Err(EngineError::UnknownColumn { table, column, choices: self.columns() });
            }
        }
        Ok(())
    }

    fn column_or_default(&self, operation: &Operation, column: usize) -> Result<ArrayRef, EngineError> {
        let (rows, field) = (&operation.rows, self.schema.field(column));
        let default = self.defaults.get(field.name());
        match (rows.column_by_name(field.name()), default) {
            (Some(given), Some(default)) => return self.completed(operation, given, field, default),
            (Some(given), None) => return self.conform(given, field),
            (None, Some(default)) => return self.repeated(default, field, rows.num_rows()),
            (None, None) => {}
        }
        if !field.is_nullable() {
            return Err(self.missing(rows, column));
        }
        Ok(new_null_array(field.data_type(), rows.num_rows()))
    }

    /// A column that only some rows give, with the default in the others.
    fn completed(
        &self,
        operation: &Operation,
        given: &ArrayRef,
        field: &Field,
        default: &ScalarValue,
    ) -> Result<ArrayRef, EngineError> {
        let Some(omitted) = operation.omits(field.name()) else { return self.conform(given, field) };
        let (given, default) = (self.typed(given, field)?, self.repeated(default, field, 1)?);
        let omitted = BooleanArray::new(omitted.clone(), None);
        let whole = zip(&omitted, &Scalar::new(default), &given).map_err(TraceError::from)?;
        self.check_nulls(&whole, field, None)?;
        Ok(whole)
    }

    fn repeated(&self, value: &ScalarValue, field: &Field, rows: usize) -> Result<ArrayRef, EngineError> {
        self.conform(&value.to_array_of_size(rows).map_err(PlanError::from)?, field)
    }

    fn missing(&self, rows: &RecordBatch, column: usize) -> EngineError {
        let column = self.schema.field(column).name().clone();
        EngineError::MissingColumn { table: self.name.clone(), column, given: names(rows) }
    }

    fn given(&self, rows: &RecordBatch, column: usize) -> Result<Option<ArrayRef>, EngineError> {
        let field = self.schema.field(column);
        rows.column_by_name(field.name()).map(|array| self.conform(array, field)).transpose()
    }

    /// The column in the field's type, without NULLs if the field has none.
    fn conform(&self, array: &ArrayRef, field: &Field) -> Result<ArrayRef, EngineError> {
        let array = self.typed(array, field)?;
        self.check_nulls(&array, field, None)?;
        Ok(array)
    }

    /// NULL may not stand in a field that has none, unless the row does not give the field at all.
    fn check_nulls(
        &self,
        array: &ArrayRef,
        field: &Field,
        omitted: Option<&BooleanBuffer>,
    ) -> Result<(), EngineError> {
        if field.is_nullable() || array.null_count() == 0 {
            return Ok(());
        }
        let given = |row: &usize| omitted.is_none_or(|omitted| !omitted.value(*row));
        match (0..array.len()).find(|row| array.is_null(*row) && given(row)) {
            Some(row) => {
                let (table, column) = (self.name.clone(), field.name().clone());
                Err(EngineError::NotNull { table, column, row })
            }
            None => Ok(()),
        }
    }

    /// The column in the field's type.
    fn typed(&self, array: &ArrayRef, field: &Field) -> Result<ArrayRef, EngineError> {
        let normal = normal_type(array.data_type());
        let array = if normal.equals_datatype(field.data_type()) {
            normal_array(array)?
        } else if lossless(&normal, field.data_type()) {
            self.cast(&normal_array(array)?, field)?
        } else {
            return Err(self.wrong_type(field, external_type(&normal).to_string(), None));
        };
        // The nullability of nested fields may differ from the declared one; the data does not.
        Ok(if array.data_type() == field.data_type() {
            array
        } else {
            arrow_cast::cast(&array, field.data_type()).map_err(TraceError::from)?
        })
    }

    /// The column in another type. A value is kept only if the way back leads to it again: nothing is cut off, rounded or lost inside a list.
    fn cast(&self, array: &ArrayRef, field: &Field) -> Result<ArrayRef, EngineError> {
        let cast = checked_cast(array, field.data_type())?;
        if let Some(row) = first_change(array, &cast)? {
            let value = array_value_to_string(array, row).map_err(TraceError::from)?;
            let found = format!("{value} ({}), which does not fit", external_type(array.data_type()));
            return Err(self.wrong_type(field, found, Some(row)));
        }
        Ok(normal_array(&cast)?)
    }

    fn wrong_type(&self, field: &Field, found: String, row: Option<usize>) -> EngineError {
        let expected = external_type(field.data_type()).to_string();
        EngineError::ColumnType {
            table: self.name.clone(),
            column: field.name().clone(),
            expected,
            found,
            row,
        }
    }
}

/// Whether values of one type may stand for values of another, each value checked: numbers of other widths, times of other units, never text for a number.
fn lossless(from: &DataType, to: &DataType) -> bool {
    use DataType::{
        Date32, Date64, Decimal128, Decimal256, Duration, FixedSizeBinary, List, Null, Struct, Time32,
        Time64, Timestamp,
    };
    let exact =
        |data_type: &DataType| data_type.is_integer() || matches!(data_type, Decimal128(..) | Decimal256(..));
    match (from, to) {
        (Null, _) => true,
        (from, to) if from.is_integer() && to.is_numeric() => true,
        (from, to) if exact(from) && exact(to) => true,
        (from, to) if from.is_floating() && to.is_floating() => true,
        (Timestamp(_, a), Timestamp(_, b)) => a.is_some() == b.is_some(),
        (Date32 | Date64, Date32 | Date64)
        | (Time32(_) | Time64(_), Time32(_) | Time64(_))
        | (Duration(_), Duration(_)) => true,
        (DataType::BinaryView, FixedSizeBinary(_)) | (FixedSizeBinary(_), DataType::BinaryView) => true,
        (List(a), List(b)) => {
            a.data_type().equals_datatype(b.data_type()) || lossless(a.data_type(), b.data_type())
        }
        (Struct(a), Struct(b)) => {
            let fits = |(x, y): (&Arc<Field>, &Arc<Field>)| {
                x.name() == y.name()
                    && (x.data_type().equals_datatype(y.data_type())
                        || lossless(x.data_type(), y.data_type()))
            };
            a.len() == b.len() && a.iter().zip(b.iter()).all(fits)
        }
        _ => false,
    }
}

/// A cast that gives NULL for a value that cannot be cast.
fn checked_cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, TraceError> {
    let safe = CastOptions { safe: true, ..CastOptions::default() };
    Ok(cast_with_options(array, to, &safe)?)
}

/// The first row whose value a cast has changed.
fn first_change(array: &ArrayRef, cast: &ArrayRef) -> Result<Option<usize>, TraceError> {
    if array.data_type() == &DataType::Null {
        return Ok(None);
    }
    let back = checked_cast(cast, array.data_type())?;
    let comparator = RowComparator::try_new(std::slice::from_ref(array), std::slice::from_ref(&back))?;
    Ok((0..array.len()).find(|row| comparator.compare(*row, *row).is_ne()))
}

fn names(rows: &RecordBatch) -> Vec<String> {
    rows.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
}
