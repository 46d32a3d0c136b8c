//! A scalar function of ours: its name, the types it takes and gives, and a loop over columns.
//!
//! A family of functions is a table of [`Definition`]s. Arguments arrive in the types that `takes` asked for, as arrays of one length; a function that is
//! strict (all but those that say otherwise) need not look at NULL rows twice: the loops of `row.rs` skip them.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use datafusion_common::{Result, plan_err};
use datafusion_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};

/// One function.
pub(crate) struct Definition {
    /// Its SQL name.
    pub(crate) name: &'static str,
    /// The types that arguments of the given types are cast to, or None if they cannot be its arguments.
    pub(crate) takes: fn(&[DataType]) -> Option<Vec<DataType>>,
    /// What to write where arguments are wrong.
    pub(crate) usage: &'static str,
    /// The type of the result for arguments of the types that it takes.
    pub(crate) gives: fn(&[DataType]) -> DataType,
    /// The values for columns of one length.
    pub(crate) run: fn(&[ArrayRef]) -> Result<ArrayRef>,
}

/// The function as DataFusion knows one.
pub(crate) fn defined(definition: &'static Definition) -> Arc<ScalarUDF> {
    // Functions without arguments are none of ours; a user-defined signature asks `takes`.
    let signature = Signature::new(TypeSignature::UserDefined, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(Implementation { definition, signature }))
}

struct Implementation {
    definition: &'static Definition,
    signature: Signature,
}

impl ScalarUDFImpl for Implementation {
    fn name(&self) -> &str {
        self.definition.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, args: &[DataType]) -> Result<Vec<DataType>> {
        match (self.definition.takes)(args) {
            Some(types) => Ok(types),
            None => {
                let given: Vec<String> = args.iter().map(ToString::to_string).collect();
                plan_err!(
                    "'{}' takes {}, got ({})",
                    self.definition.name,
                    self.definition.usage,
                    given.join(", ")
                )
            }
        }
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        Ok((self.definition.gives)(args))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let arrays = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let values = (self.definition.run)(&arrays)?;
        if constant {
            let value = datafusion_common::ScalarValue::try_from_array(&values, 0)?;
            return Ok(ColumnarValue::Scalar(value));
        }
        Ok(ColumnarValue::Array(values))
    }
}

impl std::fmt::Debug for Implementation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.definition.name)
    }
}

impl PartialEq for Implementation {
    fn eq(&self, other: &Self) -> bool {
        self.definition.name == other.definition.name
    }
}

impl Eq for Implementation {}

impl Hash for Implementation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.definition.name.hash(state);
    }
}
