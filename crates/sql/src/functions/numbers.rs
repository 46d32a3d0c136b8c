//! Functions of numbers: bits, the quotient of decimals, rounding to even, digits in other bases.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use datafusion_common::Result;

use super::definition::Definition;
use super::rows::{
    float_at, integer_at, is_number, is_text, number_column, text, text_at, text_column, wrong,
};

/// All functions of numbers.
pub(crate) static NUMBERS: &[Definition] = &[
    Definition {
        name: "bit_count",
        takes: integer,
        usage: "an integer",
        gives: |_| DataType::Int32,
        run: bit_count,
    },
    Definition {
        name: "bitwise_not",
        takes: integer,
        usage: "an integer",
        gives: |args| args[0].clone(),
        run: bitwise_not,
    },
    Definition {
        name: "quotient",
        takes: |args| (args.len() == 2 && args.iter().all(is_number)).then(|| vec![DataType::Float64; 2]),
        usage: "two numbers",
        gives: |_| DataType::Float64,
        run: |args| {
            number_column::<Float64Type>(args[0].len(), |row| {
                match (float_at(&args[0], row), float_at(&args[1], row)) {
                    (Some(_), Some(0.0)) => Err(wrong("Divide by zero error")),
                    (Some(x), Some(y)) => Ok(Some(x / y)),
                    _ => Ok(None),
                }
            })
        },
    },
    Definition {
        name: "round_even",
        takes: |args| match args {
            [x, digits] if is_number(x) && is_number(digits) => {
                Some(vec![DataType::Float64, DataType::Int64])
            }
            _ => None,
        },
        usage: "a number and how many digits to keep",
        gives: |_| DataType::Float64,
        run: |args| {
            number_column::<Float64Type>(args[0].len(), |row| {
                let (Some(x), Some(digits)) = (float_at(&args[0], row), integer_at(&args[1], row)) else {
                    return Ok(None);
                };
                let factor = 10_f64.powi(digits.clamp(-400, 400) as i32);
                let scaled = x * factor;
                Ok(Some(if scaled.is_finite() && factor > 0.0 {
                    scaled.round_ties_even() / factor
                } else {
                    x
                }))
            })
        },
    },
    Definition {
        name: "hex",
        takes: based,
        usage: "an integer, a text or bytes",
        gives: |_| DataType::Utf8View,
        run: |args| in_base(args, |value| format!("{value:X}"), |byte, out| write!(out, "{byte:02X}")),
    },
    Definition {
        name: "bin",
        takes: based,
        usage: "an integer, a text or bytes",
        gives: |_| DataType::Utf8View,
        run: |args| in_base(args, |value| format!("{value:b}"), |byte, out| write!(out, "{byte:08b}")),
    },
    Definition {
        name: "fail",
        takes: super::rows::texts::<1>,
        usage: "a message",
        gives: |_| DataType::Null,
        run: |args| {
            let messages = text(&args[0]);
            match (0..messages.len()).find_map(|row| text_at(messages, row)) {
                Some(message) => Err(wrong(message)),
                None => Ok(arrow_array::new_null_array(&DataType::Null, messages.len())),
            }
        },
    },
];

fn integer(args: &[DataType]) -> Option<Vec<DataType>> {
    match args {
        [found] if found.is_integer() => Some(vec![found.clone()]),
        [DataType::Null] => Some(vec![DataType::Int64]),
        _ => None,
    }
}

fn based(args: &[DataType]) -> Option<Vec<DataType>> {
    match args {
        [found] if found.is_integer() => Some(vec![DataType::Int64]),
        [DataType::Binary | DataType::BinaryView | DataType::LargeBinary] => Some(vec![DataType::BinaryView]),
        [found] if is_text(found) => Some(vec![DataType::Utf8View]),
        _ => None,
    }
}

macro_rules! over_integers {
    ($array:expr, $t:ident => $body:expr, $other:expr) => {
        match $array.data_type() {
            DataType::Int8 => {
                type $t = Int8Type;
                $body
            }
            DataType::Int16 => {
                type $t = Int16Type;
                $body
            }
            DataType::Int32 => {
                type $t = Int32Type;
                $body
            }
            DataType::Int64 => {
                type $t = Int64Type;
                $body
            }
            DataType::UInt8 => {
                type $t = UInt8Type;
                $body
            }
            DataType::UInt16 => {
                type $t = UInt16Type;
                $body
            }
            DataType::UInt32 => {
                type $t = UInt32Type;
                $body
            }
            DataType::UInt64 => {
                type $t = UInt64Type;
                $body
            }
            _ => $other,
        }
    };
}

fn bit_count(args: &[ArrayRef]) -> Result<ArrayRef> {
    let array = &args[0];
    over_integers!(
        array,
        T => Ok(Arc::new(array.as_primitive::<T>().unary::<_, Int32Type>(|value| value.count_ones() as i32))),
        Err(wrong("bit_count takes an integer"))
    )
}

fn bitwise_not(args: &[ArrayRef]) -> Result<ArrayRef> {
    let array = &args[0];
    over_integers!(
        array,
        T => Ok(Arc::new(array.as_primitive::<T>().unary::<_, T>(|value| !value))),
        Err(wrong("~ takes an integer"))
    )
}

fn in_base(
    args: &[ArrayRef],
    number: fn(i64) -> String,
    byte: fn(u8, &mut String) -> std::fmt::Result,
) -> Result<ArrayRef> {
    let array = &args[0];
    text_column(array.len(), |row| {
        if array.is_null(row) {
            return Ok(None);
        }
        let bytes = match array.data_type() {
            DataType::Int64 => return Ok(integer_at(array, row).map(number)),
            DataType::BinaryView => array.as_binary_view().value(row),
            _ => text(array).value(row).as_bytes(),
        };
        let mut out = String::with_capacity(bytes.len() * 2);
        bytes.iter().try_for_each(|one| byte(*one, &mut out)).map_err(|error| wrong(error.to_string()))?;
        Ok(Some(out))
    })
}
