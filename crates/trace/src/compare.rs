//! Comparing rows of two sets of columns, which have the same types.
//!
//! Two levels. A [`Lead`] is the leading column as a `u64` whose order never contradicts the order of the column: for plain integer, float, date and
//! time columns without NULLs it decides alone; kernels are generic over it, so that their loop compares machine words. A [`RowComparator`]
//! decides the rest, column by column; it is asked only on ties.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{ByteViewType, Float64Type};
use arrow_array::{Array, ArrayRef, BinaryViewArray, GenericByteViewArray, PrimitiveArray, StringViewArray};
use arrow_buffer::NullBuffer;
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::{DataType, SortOptions};
use tailrace_algebra::float;

use crate::TraceError;

/// Ascending with NULL first: the one order of the engine.
pub(crate) const ASCENDING: SortOptions = SortOptions { descending: false, nulls_first: true };

/// Compares row `i` on the left with row `j` on the right, columns from first to last.
pub struct RowComparator<'a> {
    columns: Vec<ColumnComparator<'a>>,
}

enum ColumnComparator<'a> {
    I64(&'a [i64], &'a [i64]),
    I32(&'a [i32], &'a [i32]),
    F64(&'a [f64], &'a [f64]),
    Text(&'a StringViewArray, &'a StringViewArray),
    Binary(&'a BinaryViewArray, &'a BinaryViewArray),
    Dyn(DynComparator),
}

impl<'a> RowComparator<'a> {
    /// A comparator of two lists of columns of pairwise equal types.
    pub fn try_new(left: &'a [ArrayRef], right: &'a [ArrayRef]) -> Result<Self, TraceError> {
        let columns =
            left.iter().zip(right).map(|(l, r)| column_comparator(l, r)).collect::<Result<_, _>>()?;
        Ok(Self { columns })
    }

    /// How row `i` on the left compares with row `j` on the right.
    #[inline]
    pub fn compare(&self, i: usize, j: usize) -> Ordering {
        for column in &self.columns {
            let ordering = match column {
                ColumnComparator::I64(left, right) => left[i].cmp(&right[j]),
                ColumnComparator::I32(left, right) => left[i].cmp(&right[j]),
                ColumnComparator::F64(left, right) => {
                    float::order_key(left[i]).cmp(&float::order_key(right[j]))
                }
                ColumnComparator::Text(left, right) => compare_views(left, i, right, j),
                ColumnComparator::Binary(left, right) => compare_views(left, i, right, j),
                ColumnComparator::Dyn(compare) => compare(i, j),
            };
            if ordering != Ordering::Equal {
                return ordering;
            }
        }
        Ordering::Equal
    }
}

/// The leading column as words.
pub(crate) trait Lead: Copy {
    fn at(self, row: usize) -> u64;
}

#[derive(Clone, Copy)]
pub(crate) struct I64Lead<'a>(&'a [i64]);
#[derive(Clone, Copy)]
pub(crate) struct I32Lead<'a>(&'a [i32]);
#[derive(Clone, Copy)]
pub(crate) struct ViewLead<'a>(&'a [u128]);
#[derive(Clone, Copy)]
pub(crate) struct F64Lead<'a>(&'a [f64]);
/// A lead with NULL before all else; the least value shares a word with its neighbour, so it never decides alone.
#[derive(Clone, Copy)]
pub(crate) struct NullLead<'a, L> {
    lead: L,
    nulls: Option<&'a NullBuffer>,
}
/// No word: the comparator decides everything.
#[derive(Clone, Copy)]
pub(crate) struct NoLead;

impl<'a, L> NullLead<'a, L> {
    fn new(lead: L, array: &'a ArrayRef) -> Self {
        Self { lead, nulls: array.nulls() }
    }
}

impl Lead for I64Lead<'_> {
    #[inline(always)]
    fn at(self, row: usize) -> u64 {
        self.0[row] as u64 ^ (1 << 63)
    }
}

impl Lead for I32Lead<'_> {
    #[inline(always)]
    fn at(self, row: usize) -> u64 {
        u64::from(self.0[row] as u32 ^ (1 << 31))
    }
}

impl Lead for ViewLead<'_> {
    /// The first four bytes stand in every view, short or long, padded with zeros.
    #[inline(always)]
    fn at(self, row: usize) -> u64 {
        u64::from(((self.0[row] >> 32) as u32).swap_bytes())
    }
}

impl Lead for NoLead {
    #[inline(always)]
    fn at(self, _row: usize) -> u64 {
        0
    }
}

impl Lead for F64Lead<'_> {
    #[inline(always)]
    fn at(self, row: usize) -> u64 {
        float::order_key(self.0[row])
    }
}

impl<L: Lead> Lead for NullLead<'_, L> {
    #[inline(always)]
    fn at(self, row: usize) -> u64 {
        if self.nulls.is_none_or(|nulls| nulls.is_valid(row)) { self.lead.at(row).max(1) } else { 0 }
    }
}

/// The leads of the same column on both sides, where both have one.
#[derive(Clone, Copy)]
pub(crate) enum Leads<'a> {
    I64(I64Lead<'a>, I64Lead<'a>),
    I32(I32Lead<'a>, I32Lead<'a>),
    F64(F64Lead<'a>, F64Lead<'a>),
    View(ViewLead<'a>, ViewLead<'a>),
    NullI64(NullLead<'a, I64Lead<'a>>, NullLead<'a, I64Lead<'a>>),
    NullI32(NullLead<'a, I32Lead<'a>>, NullLead<'a, I32Lead<'a>>),
    NullView(NullLead<'a, ViewLead<'a>>, NullLead<'a, ViewLead<'a>>),
    None,
}

/// Runs an expression with both leads, compiled for each kind of lead.
macro_rules! with_leads {
    ($leads:expr, |$left:ident, $right:ident| $body:expr) => {
        match $leads {
            $crate::compare::Leads::I64($left, $right) => $body,
            $crate::compare::Leads::I32($left, $right) => $body,
            $crate::compare::Leads::F64($left, $right) => $body,
            $crate::compare::Leads::View($left, $right) => $body,
            $crate::compare::Leads::NullI64($left, $right) => $body,
            $crate::compare::Leads::NullI32($left, $right) => $body,
            $crate::compare::Leads::NullView($left, $right) => $body,
            $crate::compare::Leads::None => {
                let ($left, $right) = ($crate::compare::NoLead, $crate::compare::NoLead);
                $body
            }
        }
    };
}
pub(crate) use with_leads;

impl<'a> Leads<'a> {
    pub(crate) fn of(left: Option<&'a ArrayRef>, right: Option<&'a ArrayRef>) -> Self {
        let (Some(left), Some(right)) = (left, right) else { return Self::None };
        match (Self::plain(left, right), left.null_count() + right.null_count()) {
            (plain, 0) => plain,
            (Self::I64(l, r), _) => Self::NullI64(NullLead::new(l, left), NullLead::new(r, right)),
            (Self::I32(l, r), _) => Self::NullI32(NullLead::new(l, left), NullLead::new(r, right)),
            (Self::View(l, r), _) => Self::NullView(NullLead::new(l, left), NullLead::new(r, right)),
            _ => Self::None,
        }
    }

    /// Whether the words alone decide.
    pub(crate) fn exact(&self) -> bool {
        matches!(self, Self::I64(..) | Self::I32(..) | Self::F64(..))
    }

    fn plain(left: &'a ArrayRef, right: &'a ArrayRef) -> Self {
        match (width(left.data_type()), left.data_type()) {
            (Some(64), _) => Self::I64(I64Lead(i64s(left)), I64Lead(i64s(right))),
            (Some(_), _) => Self::I32(I32Lead(i32s(left)), I32Lead(i32s(right))),
            (_, DataType::Float64) => Self::F64(F64Lead(f64s(left)), F64Lead(f64s(right))),
            (_, DataType::Utf8View) => {
                Self::View(ViewLead(left.as_string_view().views()), ViewLead(right.as_string_view().views()))
            }
            (_, DataType::BinaryView) => {
                Self::View(ViewLead(left.as_binary_view().views()), ViewLead(right.as_binary_view().views()))
            }
            _ => Self::None,
        }
    }
}

/// The width in bits of types that are signed integers inside.
fn width(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::Int64
        | DataType::Timestamp(..)
        | DataType::Time64(_)
        | DataType::Date64
        | DataType::Duration(_) => Some(64),
        DataType::Int32 | DataType::Date32 | DataType::Time32(_) => Some(32),
        _ => None,
    }
}

fn i64s(array: &ArrayRef) -> &[i64] {
    let data = array.as_any();
    macro_rules! values {
        ($($t:ty),*) => { $(if let Some(a) = data.downcast_ref::<PrimitiveArray<$t>>() { return a.values(); })* };
    }
    use arrow_array::types::*;
    values!(
        Int64Type,
        TimestampMicrosecondType,
        TimestampNanosecondType,
        TimestampMillisecondType,
        TimestampSecondType,
        Time64MicrosecondType,
        Time64NanosecondType,
        Date64Type,
        DurationMicrosecondType,
        DurationNanosecondType,
        DurationMillisecondType,
        DurationSecondType
    );
    array.as_primitive::<Int64Type>().values()
}

fn i32s(array: &ArrayRef) -> &[i32] {
    let data = array.as_any();
    use arrow_array::types::*;
    if let Some(a) = data.downcast_ref::<PrimitiveArray<Date32Type>>() {
        return a.values();
    }
    if let Some(a) = data.downcast_ref::<PrimitiveArray<Time32SecondType>>() {
        return a.values();
    }
    if let Some(a) = data.downcast_ref::<PrimitiveArray<Time32MillisecondType>>() {
        return a.values();
    }
    array.as_primitive::<Int32Type>().values()
}

fn f64s(array: &ArrayRef) -> &[f64] {
    array.as_primitive::<Float64Type>().values()
}

fn column_comparator<'a>(
    left: &'a ArrayRef,
    right: &'a ArrayRef,
) -> Result<ColumnComparator<'a>, TraceError> {
    if left.null_count() == 0 && right.null_count() == 0 {
        match (width(left.data_type()), left.data_type()) {
            (Some(64), _) => return Ok(ColumnComparator::I64(i64s(left), i64s(right))),
            (Some(_), _) => return Ok(ColumnComparator::I32(i32s(left), i32s(right))),
            (_, DataType::Float64) => return Ok(ColumnComparator::F64(f64s(left), f64s(right))),
            (_, DataType::Utf8View) => {
                return Ok(ColumnComparator::Text(left.as_string_view(), right.as_string_view()));
            }
            (_, DataType::BinaryView) => {
                return Ok(ColumnComparator::Binary(left.as_binary_view(), right.as_binary_view()));
            }
            _ => {}
        }
    }
    Ok(ColumnComparator::Dyn(make_comparator(left, right, ASCENDING)?))
}

/// Compares views by their first four bytes before it looks at the rest.
#[inline]
fn compare_views<T: ByteViewType>(
    left: &GenericByteViewArray<T>,
    i: usize,
    right: &GenericByteViewArray<T>,
    j: usize,
) -> Ordering {
    let (a, b) = (left.views()[i], right.views()[j]);
    let prefix = |view: u128| ((view >> 32) as u32).swap_bytes();
    prefix(a).cmp(&prefix(b)).then_with(|| bytes_of(left, i).cmp(bytes_of(right, j)))
}

fn bytes_of<T: ByteViewType>(array: &GenericByteViewArray<T>, row: usize) -> &[u8] {
    let value: &T::Native = array.value(row);
    value.as_ref()
}
