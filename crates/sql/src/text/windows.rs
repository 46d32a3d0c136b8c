//! Window functions as DataFusion's planner sees them: names, coercions and result types. They are never run there.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef};
use datafusion_common::{Result, internal_err, plan_err};
use datafusion_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion_expr::{PartitionEvaluator, Signature, Volatility, WindowUDF, WindowUDFImpl};

/// The names of all window functions that are not aggregates.
pub(crate) const NAMES: &[&str] = &[
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
];

/// The window function of that name, if there is one.
pub(crate) fn window_stub(name: &str) -> Option<Arc<WindowUDF>> {
    let name = name.to_ascii_lowercase();
    let known = NAMES.iter().find(|known| **known == name)?;
    Some(Arc::new(WindowUDF::new_from_impl(Stub {
        name: known,
        signature: Signature::user_defined(Volatility::Immutable),
    })))
}

#[derive(Debug)]
struct Stub {
    name: &'static str,
    signature: Signature,
}

impl WindowUDFImpl for Stub {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(&self, _args: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        internal_err!("{} is computed by an operator", self.name)
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        let (data_type, nullable) = match self.name {
            "row_number" | "rank" | "dense_rank" | "ntile" => (DataType::Int64, false),
            "percent_rank" | "cume_dist" => (DataType::Float64, false),
            name => match args.get_input_field(0) {
                Some(value) => (value.data_type().clone(), true),
                None => return plan_err!("{name} needs a value"),
            },
        };
        Ok(Arc::new(Field::new(args.name(), data_type, nullable)))
    }

    fn coerce_types(&self, args: &[DataType]) -> Result<Vec<DataType>> {
        let wanted = match self.name {
            "row_number" | "rank" | "dense_rank" | "percent_rank" | "cume_dist" => 0..=0,
            "ntile" | "first_value" | "last_value" => 1..=1,
            "nth_value" => 2..=2,
            _ => 1..=3,
        };
        if !wanted.contains(&args.len()) {
            return plan_err!(
                "{} takes {} to {} argument(s), got {}",
                self.name,
                wanted.start(),
                wanted.end(),
                args.len()
            );
        }
        let typed =
            |data_type: &DataType| if data_type.is_null() { DataType::Int64 } else { data_type.clone() };
        let place = |(index, given): (usize, &DataType)| match (self.name, index) {
            ("ntile", 0) | ("lag" | "lead" | "nth_value", 1) => DataType::Int64,
            ("lag" | "lead", 2) => typed(&args[0]),
            _ => typed(given),
        };
        Ok(args.iter().enumerate().map(place).collect())
    }
}

impl PartialEq for Stub {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Stub {}

impl Hash for Stub {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}
