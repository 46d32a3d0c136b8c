//! From calls to state: which accumulators and which traces the calls of an aggregate need, each once.

use arrow_schema::{DataType, Field};
use tailrace_circuit::OperatorError;

use super::distinct::Distinct;
use super::finish::Finish;
use super::function::{AggregateCall, AggregateFunction, AggregateSpec};
use super::linear::{Linear, LinearPlan};
use super::rows::{RowPlan, Rows};
use super::whole::Whole;
use crate::Scalar;
use crate::ordering::{OrderBy, same};

/// Where the value of a call is read.
#[derive(Clone, Debug)]
pub(crate) enum Output {
    /// Off the accumulators of a source: 0 is all rows, the others are distinct arguments.
    Linear { source: usize, finish: Finish },
    /// Off the first or last row of a trace.
    End { rows: usize, value: usize, backward: bool },
    /// Off all rows of a trace.
    Whole { rows: usize, whole: Whole },
}

/// The parts of an aggregate.
pub(crate) struct Parts {
    pub(crate) outputs: Vec<Output>,
    pub(crate) linear: Linear,
    pub(crate) distincts: Vec<Distinct>,
    pub(crate) rows: Vec<Rows>,
}

/// Plans in the making.
#[derive(Default)]
struct Draft {
    keys: Vec<Field>,
    linear: LinearPlan,
    distincts: Vec<(RowPlan, LinearPlan)>,
    rows: Vec<RowPlan>,
}

/// Plans all calls.
pub(crate) fn plan(spec: &AggregateSpec) -> Result<Parts, OperatorError> {
    let types = check(spec)?;
    let key = |(index, key): (usize, &Scalar)| {
        Field::new(format!("key_{index}"), key.data_type().clone(), key.nullable())
    };
    let mut draft = Draft { keys: spec.keys.iter().enumerate().map(key).collect(), ..Draft::default() };
    let outputs =
        spec.calls.iter().zip(&types).map(|(call, to)| draft.output(call, to)).collect::<Result<_, _>>()?;
    let Draft { keys, linear, distincts, rows } = draft;
    let distinct =
        |(rows, linear): (RowPlan, LinearPlan)| Distinct::new(Rows::new(rows, &keys)?, linear, &keys);
    Ok(Parts {
        outputs,
        linear: Linear::new(linear, &keys)?,
        distincts: distincts.into_iter().map(distinct).collect::<Result<_, _>>()?,
        rows: rows.into_iter().map(|plan| Rows::new(plan, &keys)).collect::<Result<_, _>>()?,
    })
}

impl Draft {
    fn output(&mut self, call: &AggregateCall, to: &DataType) -> Result<Output, OperatorError> {
        if call.distinct && !call.args.is_empty() {
            if let Some(output) = self.distinct(call, to)? {
                return Ok(output);
            }
        } else if let Some(finish) =
            Finish::plan(call, &call.args, call.filter.as_ref(), to, &mut self.linear)
        {
            return Ok(Output::Linear { source: 0, finish });
        }
        self.of_rows(call)
    }

    /// A linear call over distinct arguments; None if the call is not linear.
    fn distinct(&mut self, call: &AggregateCall, to: &DataType) -> Result<Option<Output>, OperatorError> {
        let rows = RowPlan {
            order: Vec::new(),
            values: call.args.clone(),
            skip_nulls: true,
            filter: call.filter.clone(),
        };
        let args = Distinct::args(&Rows::new(rows.clone(), &self.keys)?, &rows);
        let known = self.distincts.iter().position(|(plan, _)| *plan == rows);
        let mut linear = known.map_or_else(LinearPlan::default, |place| self.distincts[place].1.clone());
        let Some(finish) = Finish::plan(call, &args, None, to, &mut linear) else { return Ok(None) };
        let place = known.unwrap_or(self.distincts.len());
        match known {
            Some(place) => self.distincts[place].1 = linear,
            None => self.distincts.push((rows, linear)),
        }
        Ok(Some(Output::Linear { source: place + 1, finish }))
    }

    /// A call that looks at rows.
    fn of_rows(&mut self, call: &AggregateCall) -> Result<Output, OperatorError> {
        use AggregateFunction as F;
        let backward = matches!(call.function, F::Max | F::ArgMax | F::Last);
        Ok(match call.function {
            F::Min | F::Max => self.end(call, call.args.clone(), Vec::new(), true, 0, backward),
            F::ArgMin | F::ArgMax => self.end(
                call,
                vec![call.args[1].clone(), call.args[0].clone()],
                Vec::new(),
                true,
                1,
                backward,
            ),
            F::First | F::Last => self.end(call, call.args.clone(), call.order.clone(), false, 0, backward),
            F::AnyValue => self.end(call, call.args.clone(), call.order.clone(), true, 0, false),
            _ => {
                check_distinct_order(call)?;
                // The value of these does not hang on the order, and they want their values sorted.
                let order = if call.function.sorts() { Vec::new() } else { call.order.clone() };
                let skip_nulls = call.function != F::ArrayAgg;
                let rows = self.rows(RowPlan {
                    order,
                    values: call.args.clone(),
                    skip_nulls,
                    filter: call.filter.clone(),
                });
                Output::Whole {
                    rows,
                    whole: Whole { function: call.function.clone(), distinct: call.distinct },
                }
            }
        })
    }

    fn end(
        &mut self,
        call: &AggregateCall,
        values: Vec<Scalar>,
        order: Vec<OrderBy>,
        skip_nulls: bool,
        value: usize,
        backward: bool,
    ) -> Output {
        let rows = self.rows(RowPlan { order, values, skip_nulls, filter: call.filter.clone() });
        Output::End { rows, value, backward }
    }

    /// The place of a trace; a known one is shared.
    fn rows(&mut self, plan: RowPlan) -> usize {
        self.rows.iter().position(|known| *known == plan).unwrap_or_else(|| {
            self.rows.push(plan);
            self.rows.len() - 1
        })
    }
}

/// Checks the calls against their arguments and the schema; gives their result types.
fn check(spec: &AggregateSpec) -> Result<Vec<DataType>, OperatorError> {
    let (columns, fields) = (spec.keys.len() + spec.calls.len(), spec.schema.fields());
    if columns != fields.len() {
        let message = format!(
            "{} keys and {} calls make {columns} columns, the schema has {}",
            spec.keys.len(),
            spec.calls.len(),
            fields.len()
        );
        return Err(OperatorError::evaluation(message));
    }
    let keys = spec.keys.iter().map(|key| Ok((key.to_string(), key.data_type().clone())));
    let calls = spec.calls.iter().map(|call| Ok((call.to_string(), return_type(call)?)));
    let columns = keys.chain(calls).collect::<Result<Vec<(String, DataType)>, OperatorError>>()?;
    for ((name, found), field) in columns.iter().zip(fields) {
        if !found.equals_datatype(field.data_type()) {
            let message = format!(
                "{name} has type {found}, its column '{}' has type {}",
                field.name(),
                field.data_type()
            );
            return Err(OperatorError::evaluation(message));
        }
    }
    Ok(columns.into_iter().skip(spec.keys.len()).map(|(_, data_type)| data_type).collect())
}

/// Equal arguments must stand side by side to be counted once, so nothing but them may decide the order.
fn check_distinct_order(call: &AggregateCall) -> Result<(), OperatorError> {
    let is_arg = |term: &OrderBy| call.args.iter().any(|arg| same(arg, &term.scalar));
    match call.order.iter().find(|term| call.distinct && !is_arg(term)) {
        None => Ok(()),
        Some(term) => Err(OperatorError::evaluation(format!(
            "{call} can only be ordered by its argument, not by {}",
            term.scalar
        ))),
    }
}

fn return_type(call: &AggregateCall) -> Result<DataType, OperatorError> {
    let args: Vec<DataType> = call.args.iter().map(|arg| arg.data_type().clone()).collect();
    call.function.return_type(&args).map_err(OperatorError::evaluation)
}
