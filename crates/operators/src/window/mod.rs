//! Window functions over ordered partitions: row_number, rank, dense_rank, lag and lead.
//!
//! # Computes
//! Every row of the input with one more column per function. Rows are ordered within their partition, ties by the whole row; a row of weight `w`
//! is `w` copies, and each copy has its own position. Rows of negative weight have no position and no output.
//!
//! # Delta rule
//! The general rule of groups, read where it can matter (`segment.rs`): the output of a row depends on the rows before it (`row_number`, `rank`,
//! `dense_rank`) or on its neighbours (`lag`, `lead`). So of a touched partition only rows from the first changed one on are looked at for numbers, until
//! they agree again, and for neighbours only rows within the offset of a changed row. Their old outputs are minus, their new ones plus.
//!
//! # State kept
//! All rows, sorted by partition and order.
//!
//! # Cost per change
//! `lag` and `lead`: O(log n + offset). Numbers: O(rows of the touched partition), since a row that comes first moves all others.
//!
//! # Example
//! `row_number` over `{(a, 3): 1, (a, 5): 1}` is `{(a, 3, 1): 1, (a, 5, 2): 1}`; the change `{(a, 4): +1}` gives
//! `{(a, 5, 2): -1, (a, 4, 2): +1, (a, 5, 3): +1}`.

mod outcome;
mod segment;

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use datafusion_common::ScalarValue;
use tailrace_circuit::{Context, OperatorError};
use tailrace_trace::ChangeBatch;

use crate::Scalar;
use crate::ordering::OrderBy;
use crate::positional::{CHECKED, PositionRule, Positional};
use crate::ranked::Ranked;
use crate::versions::Versions;
use outcome::Outcome;
use segment::{Reach, Surveyor};

/// A window function.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowFunction {
    /// The position, from one on.
    RowNumber,
    /// One more than the number of copies that come strictly before in the order.
    Rank,
    /// The number of different values of the order up to here.
    DenseRank,
    /// The argument some copies before, or the default if there is none.
    Lag {
        /// How many copies before.
        offset: usize,
        /// What stands for a copy that is not there.
        default: ScalarValue,
    },
    /// The argument some copies after, or the default if there is none.
    Lead {
        /// How many copies after.
        offset: usize,
        /// What stands for a copy that is not there.
        default: ScalarValue,
    },
}

/// One call of a window function.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// What is computed.
    pub function: WindowFunction,
    /// Of what: one argument for lag and lead, none for the others.
    pub args: Vec<Scalar>,
}

/// Which functions over which partitions.
#[derive(Clone, Debug)]
pub struct WindowSpec {
    /// What rows are divided by; nothing for one partition of all rows.
    pub partition: Vec<Scalar>,
    /// The order inside a partition.
    pub order: Vec<OrderBy>,
    /// What is computed.
    pub functions: Vec<WindowCall>,
    /// The columns of the output: those of the input, then one per function.
    pub schema: SchemaRef,
}

/// Adds columns that depend on the position of a row in its partition.
pub type Window = Positional<WindowRule>;

/// What a window operator computes of positions.
#[derive(Clone)]
pub struct WindowRule {
    spec: WindowSpec,
    input: SchemaRef,
    reach: Reach,
}

impl Window {
    /// A window operator with empty state. Fails if a function does not fit its arguments.
    pub fn new(mut spec: WindowSpec) -> Result<Self, OperatorError> {
        spec.functions.iter_mut().try_for_each(check)?;
        let Some(width) = spec.schema.fields().len().checked_sub(spec.functions.len()) else {
            let message = format!(
                "{} window functions need as many columns, the schema has {}",
                spec.functions.len(),
                spec.schema.fields().len()
            );
            return Err(OperatorError::evaluation(message));
        };
        let input = Arc::new(Schema::new(spec.schema.fields()[..width].to_vec()));
        let ranked = Ranked::new(&spec.partition, &spec.order, &input)?;
        Ok(Self::over(ranked, WindowRule { reach: Reach::of(&spec.functions), spec, input }))
    }
}

impl PositionRule for WindowRule {
    const NAME: &'static str = "window";

    fn label(&self) -> String {
        let functions: Vec<&str> = self.spec.functions.iter().map(|call| call.function.name()).collect();
        let partition: Vec<String> = self.spec.partition.iter().map(ToString::to_string).collect();
        let by = if partition.is_empty() { String::new() } else { format!(" by {}", partition.join(", ")) };
        format!("{}{by}", functions.join(", "))
    }

    fn differ(
        &self,
        ranked: &Ranked,
        versions: &Versions,
        partitions: usize,
        ctx: &Context<'_>,
    ) -> Result<ChangeBatch, OperatorError> {
        let cursor = versions.cursor();
        let mut surveyor = Surveyor::new(versions, &cursor, ranked.decisive(), self.reach);
        let mut outcome = Outcome::new(&self.spec.functions, self.reach);
        for partition in 0..partitions {
            if partition % CHECKED == 0 {
                ctx.check()?;
            }
            surveyor.survey(partition, |segment| outcome.add(segment))?;
        }
        outcome.changes(&self.spec, &self.input, ranked, versions)
    }
}

impl WindowFunction {
    /// Its SQL name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RowNumber => "row_number",
            Self::Rank => "rank",
            Self::DenseRank => "dense_rank",
            Self::Lag { .. } => "lag",
            Self::Lead { .. } => "lead",
        }
    }
}

/// Checks the number of arguments and brings the default to the type of the argument.
fn check(call: &mut WindowCall) -> Result<(), OperatorError> {
    let wanted =
        usize::from(matches!(call.function, WindowFunction::Lag { .. } | WindowFunction::Lead { .. }));
    if call.args.len() != wanted {
        let message = format!("{} takes {wanted} argument(s), got {}", call.function.name(), call.args.len());
        return Err(OperatorError::evaluation(message));
    }
    if let WindowFunction::Lag { default, .. } | WindowFunction::Lead { default, .. } = &mut call.function {
        let cast = default.cast_to(call.args[0].data_type());
        *default = cast.map_err(|error| {
            OperatorError::evaluation(format!("the default of {}: {error}", call.args[0]))
        })?;
    }
    Ok(())
}
