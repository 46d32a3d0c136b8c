//! The aggregate functions: their names, their result types, and what a call of one consists of.

use std::fmt;
use std::sync::Arc;

use arrow_schema::{DataType, Field, SchemaRef};

use crate::Scalar;
use crate::ordering::OrderBy;

/// An aggregate function.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of SQL")]
pub enum AggregateFunction {
    /// Rows without an argument, values that are not NULL with one.
    Count,
    Sum,
    Avg,
    VarSamp,
    VarPop,
    StddevSamp,
    StddevPop,
    CovarSamp,
    CovarPop,
    Corr,
    Min,
    Max,
    /// The first argument in the row where the second is least; among several the least first argument.
    ArgMin,
    /// The first argument in the row where the second is greatest; among several the greatest first argument.
    ArgMax,
    /// The value of the first row in the order of the call; among equals the least value.
    First,
    /// The value of the last row in the order of the call; among equals the greatest value.
    Last,
    ArrayAgg,
    /// Strings joined by a separator.
    StringAgg(String),
    BoolAnd,
    BoolOr,
    BitAnd,
    BitOr,
    BitXor,
    /// Any value that is not NULL: the first in the order of the call.
    AnyValue,
    /// The value below which this share of the values lies, between two values if need be.
    QuantileCont(Share),
    /// The least value with at least this share of the values at or below it.
    QuantileDisc(Share),
    /// The most frequent value; of several the least.
    Mode,
    Product,
    /// A property of the line of least squares through pairs (y, x).
    Regression(Regression),
}

/// A share between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

impl Eq for Share {}

/// What is asked of a line of least squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of SQL")]
pub enum Regression {
    Count,
    AvgX,
    AvgY,
    Sxx,
    Syy,
    Sxy,
    Slope,
    Intercept,
    R2,
}

impl Regression {
    const ALL: [(&'static str, Self); 9] = [
        ("regr_count", Self::Count),
        ("regr_avgx", Self::AvgX),
        ("regr_avgy", Self::AvgY),
        ("regr_sxx", Self::Sxx),
        ("regr_syy", Self::Syy),
        ("regr_sxy", Self::Sxy),
        ("regr_slope", Self::Slope),
        ("regr_intercept", Self::Intercept),
        ("regr_r2", Self::R2),
    ];
}

/// One call of an aggregate function.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// What is computed.
    pub function: AggregateFunction,
    /// Of what.
    pub args: Vec<Scalar>,
    /// Only rows for which this is true count.
    pub filter: Option<Scalar>,
    /// Equal arguments count once.
    pub distinct: bool,
    /// The order of rows in a group, where the function asks for one. What ties is ordered by the argument.
    pub order: Vec<OrderBy>,
}

/// Which groups and which calls.
#[derive(Clone, Debug)]
pub struct AggregateSpec {
    /// What is grouped by; nothing for one group of all rows.
    pub keys: Vec<Scalar>,
    /// What is computed per group.
    pub calls: Vec<AggregateCall>,
    /// The columns of the output: the keys, then one per call.
    pub schema: SchemaRef,
}

impl AggregateFunction {
    /// The function of this SQL name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "count" => Self::Count,
            "sum" => Self::Sum,
            "avg" | "mean" => Self::Avg,
            "var" | "var_samp" | "variance" => Self::VarSamp,
            "var_pop" => Self::VarPop,
            "stddev" | "stddev_samp" => Self::StddevSamp,
            "stddev_pop" => Self::StddevPop,
            "covar" | "covar_samp" => Self::CovarSamp,
            "covar_pop" => Self::CovarPop,
            "corr" => Self::Corr,
            "min" => Self::Min,
            "max" => Self::Max,
            "arg_min" | "argmin" | "min_by" => Self::ArgMin,
            "arg_max" | "argmax" | "max_by" => Self::ArgMax,
            "first" | "first_value" => Self::First,
            "last" | "last_value" => Self::Last,
            "array_agg" | "list" => Self::ArrayAgg,
            "string_agg" | "group_concat" | "listagg" => Self::StringAgg(",".to_owned()),
            "bool_and" | "every" => Self::BoolAnd,
            "bool_or" => Self::BoolOr,
            "bit_and" => Self::BitAnd,
            "bit_or" => Self::BitOr,
            "bit_xor" => Self::BitXor,
            "any_value" | "arbitrary" => Self::AnyValue,
            "median" => Self::QuantileCont(Share(0.5)),
            "quantile_cont" | "percentile_cont" => Self::QuantileCont(Share(0.5)),
            "quantile_disc" | "percentile_disc" | "quantile" => Self::QuantileDisc(Share(0.5)),
            "mode" => Self::Mode,
            "product" => Self::Product,
            name => Self::Regression(Regression::ALL.iter().find(|(known, _)| *known == name)?.1),
        })
    }

    /// Its SQL name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Avg => "avg",
            Self::VarSamp => "var_samp",
            Self::VarPop => "var_pop",
            Self::StddevSamp => "stddev_samp",
            Self::StddevPop => "stddev_pop",
            Self::CovarSamp => "covar_samp",
            Self::CovarPop => "covar_pop",
            Self::Corr => "corr",
            Self::Min => "min",
            Self::Max => "max",
            Self::ArgMin => "arg_min",
            Self::ArgMax => "arg_max",
            Self::First => "first",
            Self::Last => "last",
            Self::ArrayAgg => "array_agg",
            Self::StringAgg(_) => "string_agg",
            Self::BoolAnd => "bool_and",
            Self::BoolOr => "bool_or",
            Self::BitAnd => "bit_and",
            Self::BitOr => "bit_or",
            Self::BitXor => "bit_xor",
            Self::AnyValue => "any_value",
            Self::QuantileCont(_) => "quantile_cont",
            Self::QuantileDisc(_) => "quantile_disc",
            Self::Mode => "mode",
            Self::Product => "product",
            Self::Regression(asked) => {
                Regression::ALL.iter().find(|(_, known)| known == asked).map_or("regr", |(name, _)| *name)
            }
        }
    }

    /// The type of the result for arguments of these types (in normal form), or why there is none.
    pub fn return_type(&self, args: &[DataType]) -> Result<DataType, String> {
        self.check_count(args)?;
        let refuse = |wanted: &str| Err(format!("{self} takes {wanted}, got {}", args[0]));
        Ok(match self {
            Self::Count => DataType::Int64,
            Self::Sum => match &args[0] {
                integer if integer.is_integer() => DataType::Int64,
                float if float.is_floating() => DataType::Float64,
                DataType::Decimal128(_, scale) => DataType::Decimal128(38, *scale),
                DataType::Duration(unit) => DataType::Duration(*unit),
                _ => return refuse("integers, floats, decimals up to 38 digits or durations"),
            },
            Self::Avg => match &args[0] {
                number if number.is_integer() || number.is_floating() => DataType::Float64,
                DataType::Decimal128(_, scale) => DataType::Decimal128(38, average_scale(*scale)),
                DataType::Duration(unit) => DataType::Duration(*unit),
                _ => return refuse("integers, floats, decimals up to 38 digits or durations"),
            },
            Self::VarSamp
            | Self::VarPop
            | Self::StddevSamp
            | Self::StddevPop
            | Self::CovarSamp
            | Self::CovarPop
            | Self::Corr => {
                if !args.iter().all(DataType::is_numeric) {
                    return refuse("numbers");
                }
                DataType::Float64
            }
            Self::Regression(Regression::Count) => DataType::Int64,
            Self::QuantileCont(_) | Self::Product | Self::Regression(_) => {
                if !args.iter().all(DataType::is_numeric) {
                    return refuse("numbers");
                }
                DataType::Float64
            }
            Self::Min
            | Self::Max
            | Self::ArgMin
            | Self::ArgMax
            | Self::First
            | Self::Last
            | Self::AnyValue
            | Self::QuantileDisc(_)
            | Self::Mode => args[0].clone(),
            Self::ArrayAgg => DataType::List(Arc::new(Field::new_list_field(args[0].clone(), true))),
            Self::StringAgg(_) => match &args[0] {
                DataType::Utf8View | DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
                _ => return refuse("strings"),
            },
            Self::BoolAnd | Self::BoolOr => match &args[0] {
                DataType::Boolean => DataType::Boolean,
                _ => return refuse("booleans"),
            },
            Self::BitAnd | Self::BitOr | Self::BitXor => match &args[0] {
                integer if integer.is_integer() => integer.clone(),
                _ => return refuse("integers"),
            },
        })
    }

    /// Whether the function looks at the values of a group in their own order.
    pub(crate) fn sorts(&self) -> bool {
        matches!(self, Self::QuantileCont(_) | Self::QuantileDisc(_) | Self::Mode | Self::Product)
    }

    fn check_count(&self, args: &[DataType]) -> Result<(), String> {
        let wanted = match self {
            Self::Count => 0..=usize::MAX,
            Self::CovarSamp
            | Self::CovarPop
            | Self::Corr
            | Self::ArgMin
            | Self::ArgMax
            | Self::Regression(_) => 2..=2,
            _ => 1..=1,
        };
        if wanted.contains(&args.len()) {
            return Ok(());
        }
        Err(format!("{self} takes {} argument(s), got {}", wanted.start(), args.len()))
    }
}

impl fmt::Display for AggregateFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for AggregateCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args: Vec<String> = self.args.iter().map(ToString::to_string).collect();
        let args = if args.is_empty() { "*".to_owned() } else { args.join(", ") };
        write!(f, "{}({}{args})", self.function, if self.distinct { "distinct " } else { "" })?;
        match &self.filter {
            Some(filter) => write!(f, " filter ({filter})"),
            None => Ok(()),
        }
    }
}

/// An average of decimals has four digits more behind the point, as far as they fit.
pub(crate) fn average_scale(scale: i8) -> i8 {
    scale.saturating_add(4).min(38)
}
