//! Casts that mean something else in SQL than in Arrow.
//!
//! A float becomes the nearest integer, the even one of two; a decimal rounds half away from zero. Texts are read and written as in `reading.rs` and
//! `spelling.rs`. All other casts are Arrow's. What does not fit is an error, or NULL for TRY_CAST.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, FixedSizeBinaryBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray, StringViewArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::rows::{truth_column, wrong};
use super::{reading, spelling};

/// The cast as a call, if SQL means something else by it than Arrow.
pub(crate) fn cast_call(expr: Expr, from: &DataType, to: &DataType, or_null: bool) -> Option<Expr> {
    if !is_ours(from, to) {
        return None;
    }
    let kind = if or_null { "try_cast" } else { "cast" };
    let plain = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name = format!("{kind}_{}", to.to_string().chars().map(plain).collect::<String>());
    let signature = Signature::any(1, Volatility::Immutable);
    let implementation = Cast { name, to: to.clone(), or_null, signature };
    Some(Arc::new(ScalarUDF::new_from_impl(implementation)).call(vec![expr]))
}

/// Whether a function is a cast of ours.
pub(crate) fn is_cast(function: &ScalarUDF) -> bool {
    function.inner().downcast_ref::<Cast>().is_some()
}

fn is_ours(from: &DataType, to: &DataType) -> bool {
    let numeric = |data_type: &DataType| {
        data_type.is_floating() || matches!(data_type, DataType::Decimal128(..) | DataType::Decimal256(..))
    };
    if *to == DataType::Decimal128(38, 0) && from.is_floating() {
        return true;
    }
    if to.is_integer() {
        return numeric(from) || from.is_string();
    }
    if to.is_string() {
        return spelling::has_own_spelling(from);
    }
    from.is_string()
        && matches!(
            to,
            DataType::Boolean
                | DataType::Float32
                | DataType::Float64
                | DataType::Decimal128(..)
                | DataType::Date32
                | DataType::Timestamp(TimeUnit::Microsecond, _)
                | DataType::Time64(TimeUnit::Microsecond)
                | DataType::Interval(IntervalUnit::MonthDayNano)
                | DataType::BinaryView
                | DataType::Binary
                | DataType::FixedSizeBinary(16)
        )
}

struct Cast {
    /// Tells the type, so that casts to different types have different names in a plan.
    name: String,
    to: DataType,
    or_null: bool,
    signature: Signature,
}

impl ScalarUDFImpl for Cast {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _args: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match &args.args[0] {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(self.cast(array)?)),
            ColumnarValue::Scalar(value) => {
                let array = self.cast(&value.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?))
            }
        }
    }
}

impl Cast {
    fn cast(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let from = array.data_type();
        if from.is_string() {
            return self.read(arrow(array, &DataType::Utf8View, false)?.as_string_view());
        }
        if self.to.is_string() {
            return arrow(&spelling::written(array)?, &self.to, false);
        }
        let whole: ArrayRef = match from {
            DataType::Float32 => Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(even)),
            DataType::Float64 => {
                Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::round_ties_even))
            }
            DataType::Decimal128(precision, _) => {
                arrow(array, &DataType::Decimal128((*precision + 1).min(38), 0), self.or_null)?
            }
            DataType::Decimal256(precision, _) => {
                arrow(array, &DataType::Decimal256((*precision + 1).min(76), 0), self.or_null)?
            }
            _ => Arc::clone(array),
        };
        let done = arrow(&whole, &self.to, true)?;
        if !self.or_null
            && done.null_count() > array.null_count()
            && let Some(row) = (0..done.len()).find(|row| done.is_null(*row) && array.is_valid(*row))
        {
            return Err(self.misfit(&ScalarValue::try_from_array(array, row)?.to_string()));
        }
        Ok(done)
    }

    fn read(&self, texts: &StringViewArray) -> Result<ArrayRef> {
        macro_rules! integers {
            ($($variant:ident => $arrow:ty),*) => {
                match &self.to {
                    $(DataType::$variant => self.numbers::<$arrow>(texts, |text| {
                        reading::integer(text).and_then(|value| value.try_into().ok())
                    }),)*
                    _ => self.read_other(texts),
                }
            };
        }
        integers!(Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
            UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type)
    }

    fn read_other(&self, texts: &StringViewArray) -> Result<ArrayRef> {
        match &self.to {
            DataType::Float64 => self.numbers::<Float64Type>(texts, reading::float),
            DataType::Float32 => {
                self.numbers::<Float32Type>(texts, |text| reading::float(text).map(|value| value as f32))
            }
            DataType::Decimal128(precision, scale) => {
                let most = 10_i128.pow(u32::from(*precision));
                self.numbers::<Decimal128Type>(texts, |text| {
                    reading::scaled(text, i32::from(*scale)).filter(|value| value.abs() < most)
                })
            }
            DataType::Boolean => truth_column(texts.len(), |row| self.checked(texts, row, reading::truth)),
            DataType::Date32 => self
                .numbers::<Date32Type>(texts, |text| reading::date(text).and_then(|day| day.try_into().ok())),
            DataType::Timestamp(..) => self.numbers::<TimestampMicrosecondType>(texts, reading::timestamp),
            DataType::Time64(_) => self.numbers::<Time64MicrosecondType>(texts, reading::time),
            DataType::Interval(_) => self.numbers::<IntervalMonthDayNanoType>(texts, reading::interval),
            DataType::FixedSizeBinary(_) => {
                let mut out = FixedSizeBinaryBuilder::with_capacity(texts.len(), 16);
                for row in 0..texts.len() {
                    match self.checked(texts, row, reading::uuid)? {
                        Some(bytes) => out.append_value(bytes)?,
                        None => out.append_null(),
                    }
                }
                Ok(Arc::new(out.finish()))
            }
            _ => {
                let mut out = BinaryViewBuilder::with_capacity(texts.len());
                for row in 0..texts.len() {
                    out.append_option(self.checked(texts, row, reading::blob)?);
                }
                arrow(&(Arc::new(out.finish()) as ArrayRef), &self.to, false)
            }
        }
    }

    fn numbers<T: ArrowPrimitiveType>(
        &self,
        texts: &StringViewArray,
        read: impl Fn(&str) -> Option<T::Native>,
    ) -> Result<ArrayRef> {
        let values = (0..texts.len()).map(|row| self.checked(texts, row, &read));
        let column = values.collect::<Result<PrimitiveArray<T>>>()?;
        Ok(Arc::new(column.with_data_type(self.to.clone())))
    }

    fn checked<V>(
        &self,
        texts: &StringViewArray,
        row: usize,
        read: impl Fn(&str) -> Option<V>,
    ) -> Result<Option<V>> {
        if texts.is_null(row) {
            return Ok(None);
        }
        match read(texts.value(row)) {
            None if !self.or_null => Err(self.misfit(&format!("'{}'", texts.value(row)))),
            value => Ok(value),
        }
    }

    fn misfit(&self, value: &str) -> datafusion_common::DataFusionError {
        let shown: String = value.chars().take(60).collect();
        wrong(format!("{shown} cannot be cast to {}: TRY_CAST gives NULL instead", self.to))
    }
}

fn even(value: f32) -> f32 {
    value.round_ties_even()
}

fn arrow(array: &ArrayRef, to: &DataType, or_null: bool) -> Result<ArrayRef> {
    let options = CastOptions { safe: or_null, ..CastOptions::default() };
    Ok(cast_with_options(array, to, &options)?)
}

impl std::fmt::Debug for Cast {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl PartialEq for Cast {
    fn eq(&self, other: &Self) -> bool {
        self.to == other.to && self.or_null == other.or_null
    }
}

impl Eq for Cast {}

impl Hash for Cast {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.to, self.or_null).hash(state);
    }
}
