//! The names of types.
//!
//! A text has any length: VARCHAR(n) and CHAR(n) are VARCHAR, as in DuckDB. A timestamp has microseconds whatever its precision says, as in Python and in
//! most databases. DECIMAL alone is DECIMAL(18, 3), HUGEINT has 38 digits, a UUID is its 16 bytes, JSON is text.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, IntervalUnit, TimeUnit};
use datafusion_common::datatype::DataTypeExt;
use datafusion_common::{Result, plan_err};
use datafusion_expr::planner::TypePlanner;
use datafusion_sql::sqlparser::ast::{
    ArrayElemTypeDef, DataType as SqlType, ExactNumberInfo, ObjectName, TimezoneInfo,
};

/// The bytes of a UUID.
pub(crate) const UUID: DataType = DataType::FixedSizeBinary(16);

const NAMES: &str = "BOOLEAN, TINYINT to BIGINT, UTINYINT to UBIGINT, HUGEINT, REAL, DOUBLE, DECIMAL(p, s), VARCHAR, BLOB, DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL, UUID, JSON, T[], STRUCT(name T, ...), MAP(K, V)";

/// Tells DataFusion's planner what a name of a type means.
#[derive(Debug)]
pub(crate) struct Types;

impl TypePlanner for Types {
    fn plan_type_field(&self, sql_type: &SqlType) -> Result<Option<FieldRef>> {
        Ok(Some(data_type(sql_type)?.into_nullable_field_ref()))
    }
}

/// The type of that name.
pub(crate) fn data_type(sql_type: &SqlType) -> Result<DataType> {
    Ok(match sql_type {
        SqlType::Boolean | SqlType::Bool => DataType::Boolean,
        SqlType::TinyInt(_) => DataType::Int8,
        SqlType::SmallInt(_) | SqlType::Int2(_) | SqlType::Int16 => DataType::Int16,
        SqlType::Int(_)
        | SqlType::Integer(_)
        | SqlType::Int4(_)
        | SqlType::MediumInt(_)
        | SqlType::Int32
        | SqlType::Signed
        | SqlType::SignedInteger => DataType::Int32,
        SqlType::BigInt(_) | SqlType::Int8(_) | SqlType::Int64 => DataType::Int64,
        SqlType::TinyIntUnsigned(_) | SqlType::UTinyInt | SqlType::UInt8 => DataType::UInt8,
        SqlType::SmallIntUnsigned(_) | SqlType::Int2Unsigned(_) | SqlType::USmallInt | SqlType::UInt16 => {
            DataType::UInt16
        }
        SqlType::IntUnsigned(_)
        | SqlType::IntegerUnsigned(_)
        | SqlType::Int4Unsigned(_)
        | SqlType::MediumIntUnsigned(_)
        | SqlType::Unsigned
        | SqlType::UnsignedInteger
        | SqlType::UInt32 => DataType::UInt32,
        SqlType::BigIntUnsigned(_) | SqlType::Int8Unsigned(_) | SqlType::UBigInt | SqlType::UInt64 => {
            DataType::UInt64
        }
        SqlType::HugeInt | SqlType::UHugeInt | SqlType::Int128 | SqlType::UInt128 => {
            DataType::Decimal128(38, 0)
        }
        SqlType::Float(ExactNumberInfo::Precision(digits)) if *digits > 24 => DataType::Float64,
        SqlType::Float(_) | SqlType::Real | SqlType::Float4 | SqlType::Float32 => DataType::Float32,
        SqlType::Double(_) | SqlType::DoublePrecision | SqlType::Float8 | SqlType::Float64 => {
            DataType::Float64
        }
        SqlType::Decimal(info)
        | SqlType::Numeric(info)
        | SqlType::Dec(info)
        | SqlType::BigNumeric(info)
        | SqlType::BigDecimal(info) => decimal(info)?,
        SqlType::Date | SqlType::Date32 => DataType::Date32,
        SqlType::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            DataType::Time64(TimeUnit::Microsecond)
        }
        SqlType::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
        | SqlType::TimestampNtz(_)
        | SqlType::Datetime(_)
        | SqlType::Datetime64(..) => timestamp(None),
        SqlType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => timestamp(Some("UTC")),
        SqlType::Interval { .. } => DataType::Interval(IntervalUnit::MonthDayNano),
        SqlType::Bytea
        | SqlType::Blob(_)
        | SqlType::TinyBlob
        | SqlType::MediumBlob
        | SqlType::LongBlob
        | SqlType::Bytes(_)
        | SqlType::Binary(_)
        | SqlType::Varbinary(_) => DataType::BinaryView,
        SqlType::Uuid => UUID,
        other => nested(other)?,
    })
}

fn nested(sql_type: &SqlType) -> Result<DataType> {
    Ok(match sql_type {
        SqlType::Array(
            ArrayElemTypeDef::AngleBracket(item)
            | ArrayElemTypeDef::SquareBracket(item, _)
            | ArrayElemTypeDef::Parenthesis(item),
        ) => DataType::new_list(data_type(item)?, true),
        SqlType::Struct(fields, _) => {
            let named = fields.iter().enumerate().map(|(place, field)| {
                let name = field.field_name.as_ref().map_or(format!("c{place}"), super::statement::ident);
                Ok(Field::new(name, data_type(&field.field_type)?, true))
            });
            DataType::Struct(named.collect::<Result<Fields>>()?)
        }
        SqlType::Map(key, value) => {
            let fields = Fields::from(vec![
                Field::new("key", data_type(key)?, false),
                Field::new("value", data_type(value)?, true),
            ]);
            DataType::Map(Arc::new(Field::new("entries", DataType::Struct(fields), false)), false)
        }
        SqlType::Nullable(inner) => data_type(inner)?,
        SqlType::Custom(name, _) => by_name(name)?,
        text if is_text(text) => DataType::Utf8View,
        other => return plan_err!("type '{other}' does not exist. Types: {NAMES}"),
    })
}

fn is_text(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Varchar(_)
            | SqlType::Nvarchar(_)
            | SqlType::Char(_)
            | SqlType::Character(_)
            | SqlType::CharacterVarying(_)
            | SqlType::CharVarying(_)
            | SqlType::CharacterLargeObject(_)
            | SqlType::CharLargeObject(_)
            | SqlType::Clob(_)
            | SqlType::Text
            | SqlType::TinyText
            | SqlType::MediumText
            | SqlType::LongText
            | SqlType::String(_)
            | SqlType::FixedString(_)
            | SqlType::JSON
            | SqlType::JSONB
    )
}

/// Names that the parser does not know.
fn by_name(name: &ObjectName) -> Result<DataType> {
    Ok(match name.to_string().to_lowercase().as_str() {
        "int1" => DataType::Int8,
        "short" => DataType::Int16,
        "long" | "oid" => DataType::Int64,
        "utinyint" => DataType::UInt8,
        "usmallint" => DataType::UInt16,
        "uinteger" | "uint" => DataType::UInt32,
        "ubigint" => DataType::UInt64,
        "hugeint" | "uhugeint" => DataType::Decimal128(38, 0),
        "logical" => DataType::Boolean,
        "bpchar" | "name" | "string" | "varchar2" => DataType::Utf8View,
        "timestamp_s" | "timestamp_ms" | "timestamp_us" | "timestamp_ns" | "smalldatetime" => timestamp(None),
        "timestamptz" | "timestamp_tz" => timestamp(Some("UTC")),
        "uuid" | "guid" => UUID,
        "blob" | "bytea" => DataType::BinaryView,
        other => return plan_err!("type '{other}' does not exist. Types: {NAMES}"),
    })
}

fn timestamp(zone: Option<&str>) -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into))
}

fn decimal(info: &ExactNumberInfo) -> Result<DataType> {
    let (precision, scale) = match *info {
        ExactNumberInfo::None => (18, 3),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(precision @ 1..=38), Ok(scale)) if scale >= 0 && scale as u8 <= precision => {
            Ok(DataType::Decimal128(precision, scale))
        }
        _ => {
            plan_err!("DECIMAL({precision}, {scale}): the precision is 1 to 38, the scale 0 to the precision")
        }
    }
}
