//! `typeof`: the name of a value's type, as it would be written in CREATE TABLE.

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use super::definition::Definition;
use super::rows::text_column;

/// All functions that look at types.
pub(crate) static KINDS: &[Definition] = &[Definition {
    name: "typeof",
    takes: |args| (args.len() == 1).then(|| args.to_vec()),
    usage: "a value",
    gives: |_| DataType::Utf8View,
    run: |args: &[ArrayRef]| {
        let name = type_name(args[0].data_type());
        text_column(args[0].len(), |_| Ok(Some(&name)))
    },
}];

/// The name of a type in SQL.
pub fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Null => "\"NULL\"".into(),
        DataType::Boolean => "BOOLEAN".into(),
        DataType::Int8 => "TINYINT".into(),
        DataType::Int16 => "SMALLINT".into(),
        DataType::Int32 => "INTEGER".into(),
        DataType::Int64 => "BIGINT".into(),
        DataType::UInt8 => "UTINYINT".into(),
        DataType::UInt16 => "USMALLINT".into(),
        DataType::UInt32 => "UINTEGER".into(),
        DataType::UInt64 => "UBIGINT".into(),
        DataType::Float16 | DataType::Float32 => "FLOAT".into(),
        DataType::Float64 => "DOUBLE".into(),
        DataType::Decimal128(38, 0) => "HUGEINT".into(),
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s) => format!("DECIMAL({p},{s})"),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR".into(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "BLOB".into(),
        DataType::FixedSizeBinary(16) => "UUID".into(),
        DataType::FixedSizeBinary(_) => "BLOB".into(),
        DataType::Date32 | DataType::Date64 => "DATE".into(),
        DataType::Time32(_) | DataType::Time64(_) => "TIME".into(),
        DataType::Timestamp(_, None) => "TIMESTAMP".into(),
        DataType::Timestamp(_, Some(_)) => "TIMESTAMP WITH TIME ZONE".into(),
        DataType::Interval(_) | DataType::Duration(_) => "INTERVAL".into(),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => format!("{}[]", type_name(item.data_type())),
        DataType::FixedSizeList(item, size) => format!("{}[{size}]", type_name(item.data_type())),
        DataType::Struct(fields) => {
            let parts = fields.iter().map(|field| {
                let plain = field.name().chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                let name = if plain { field.name().clone() } else { format!("\"{}\"", field.name()) };
                format!("{name} {}", type_name(field.data_type()))
            });
            format!("STRUCT({})", parts.collect::<Vec<_>>().join(", "))
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                format!("MAP({}, {})", type_name(fields[0].data_type()), type_name(fields[1].data_type()))
            }
            other => format!("MAP({other})"),
        },
        other => other.to_string(),
    }
}
