//! Lowering of recursion: a nested scope whose relations are fed back, wired by [`nested::Recursion`](Relations).
//!
//! What the bodies read that does not depend on the relations is built outside and imported, so it is shared with other views and computed once. If a body
//! joins such a thing, the index that the join needs is built outside as well and held inside: it is kept once, whoever else uses it.

use std::collections::HashMap;
use std::sync::Arc;

use tailrace_circuit::{StreamId, Subcircuit};
use tailrace_operators::nested::{Inside, Outer, Recursion as Relations};

use crate::lower::{Arrangement, Builder, Memo};
use crate::plan::Recursion;
use crate::{Plan, PlanError, RelationId};

impl Builder<'_> {
    /// The stream of one of the relations.
    pub(crate) fn lower_fixpoint(
        &mut self,
        recursion: &Arc<Recursion>,
        index: usize,
    ) -> Result<StreamId, PlanError> {
        if self.is_nested() {
            let reason = "a recursion inside another one must not read the outer relation";
            return Err(PlanError::Invalid(reason.into()));
        }
        let nested = self.scope_of(recursion)?;
        let stream = relations(recursion).select(self.scope, nested, index)?;
        Ok(self.note(stream))
    }

    /// The node of the whole recursion, shared by its relations.
    fn scope_of(&mut self, recursion: &Recursion) -> Result<StreamId, PlanError> {
        let name = format!("recursion {}", recursion.fingerprint);
        let historic = recursion.depends_on_history();
        if let Some(stream) = self.known(historic).get(&name) {
            return Ok(*stream);
        }
        let mut bodies = Bodies { recursion, closed: Vec::new(), tables: self.tables };
        recursion.relations.iter().for_each(|(_, body)| collect_closed(body, &mut bodies.closed));
        let inputs = bodies.closed.iter().map(|plan| self.lower(plan)).collect::<Result<Vec<_>, _>>()?;
        let indexes = bodies.indexes()?;
        let held = indexes.iter().map(|(place, index)| {
            self.arrange(inputs[*place], index.columns.clone(), index.key_len).map(Outer::Index)
        });
        let held = held.collect::<Result<Vec<_>, _>>()?;
        let outer: Vec<Outer> = inputs.into_iter().map(Outer::Changes).chain(held).collect();
        let stream = relations(recursion).nest(self.scope, &outer, |inner, inside| {
            let mut memo = bodies.memo(inside, &indexes);
            bodies.build(inner, inside, &mut memo)
        })?;
        self.known(historic).insert(name, stream);
        Ok(self.note(stream))
    }
}

/// The bodies of a recursion and what they read from outside.
struct Bodies<'a> {
    recursion: &'a Recursion,
    /// The largest sub-plans that read no recursive relation.
    closed: Vec<&'a Plan>,
    tables: &'a HashMap<String, StreamId>,
}

impl Bodies<'_> {
    /// The indexes of closed plans that the bodies ask for, by the place of the plan. To know them the bodies are built into a scope that is thrown away:
    /// what they ask for is decided where joins are lowered, and there alone.
    fn indexes(&self) -> Result<Vec<(usize, Arrangement)>, PlanError> {
        let mut draft = Subcircuit::new("draft", &self.recursion.name);
        let mut inside = Inside { outer: Vec::new(), relations: Vec::new() };
        for plan in &self.closed {
            inside.outer.push(draft.import(Arc::clone(plan.schema()))?);
        }
        for (_, body) in &self.recursion.relations {
            inside.relations.push(draft.feedback(Arc::clone(body.schema()))?);
        }
        let mut memo = self.memo(&inside, &[]);
        self.build(&mut draft, &inside, &mut memo)?;
        let place = |stream| inside.outer.iter().position(|import| *import == stream);
        let asked = memo.arrangements.into_keys();
        let mut asked: Vec<(usize, Arrangement)> =
            asked.filter_map(|index| Some((place(index.stream)?, index))).collect();
        asked.sort_by(|(a, x), (b, y)| (a, &x.columns, x.key_len).cmp(&(b, &y.columns, y.key_len)));
        Ok(asked)
    }

    /// What exists inside before the bodies are built: the closed plans, and behind them the held indexes.
    fn memo(&self, inside: &Inside, indexes: &[(usize, Arrangement)]) -> Memo {
        let mut memo = Memo::default();
        let (plans, held) = inside.outer.split_at(self.closed.len());
        for (plan, import) in self.closed.iter().zip(plans) {
            memo.streams.insert(plan.fingerprint().to_owned(), *import);
        }
        for ((place, index), held) in indexes.iter().zip(held) {
            memo.arrangements.insert(Arrangement { stream: plans[*place], ..index.clone() }, *held);
        }
        memo
    }

    /// The stream of each body.
    fn build(
        &self,
        subcircuit: &mut Subcircuit,
        inside: &Inside,
        memo: &mut Memo,
    ) -> Result<Vec<StreamId>, PlanError> {
        let ids = self.recursion.relations.iter().map(|(id, _)| *id);
        let relations: HashMap<RelationId, StreamId> = ids.zip(inside.relations.iter().copied()).collect();
        let (tables, relations) = (self.tables, Some(relations));
        let mut builder = Builder::new(subcircuit, memo, tables, relations);
        self.recursion.relations.iter().map(|(_, body)| builder.lower(body)).collect()
    }
}

/// The relations, as sets or as bags.
fn relations(recursion: &Recursion) -> Relations {
    let empty = Relations::new(recursion.limit).labelled(&recursion.name);
    let bodies = recursion.relations.iter().map(|(_, body)| body.schema());
    bodies.enumerate().fold(empty, |relations, (index, schema)| {
        let name = format!("relation {index} of {}", recursion.name);
        let schema = Arc::clone(schema);
        if recursion.distinct { relations.set(name, schema) } else { relations.bag(name, schema) }
    })
}

/// The largest sub-plans that read no recursive relation.
fn collect_closed<'a>(plan: &'a Plan, closed: &mut Vec<&'a Plan>) {
    if !plan.free_relations().is_empty() {
        plan.inputs().iter().for_each(|input| collect_closed(input, closed));
    } else if closed.iter().all(|known| known.fingerprint() != plan.fingerprint()) {
        closed.push(plan);
    }
}
