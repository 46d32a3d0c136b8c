//! Lowering of recursion: a nested scope whose relations are fed back.
//!
//! What the bodies read that does not depend on the relations is built outside and imported, so it is shared with other views and computed once.
//! Inside, each relation is the distinct rows of its body, fed back by one iteration.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use tailrace_circuit::{StreamId, Subcircuit};

use crate::lower::{Builder, Memo};
use crate::plan::Recursion;
use crate::{Plan, PlanError, RelationId};

impl Builder<'_> {
    /// The stream of one of the relations.
    pub(crate) fn lower_fixpoint(&mut self, recursion: &Arc<Recursion>, index: usize) -> Result<StreamId, PlanError> {
        if self.is_nested() {
            let reason = "a recursion inside another one must not read the outer relation";
            return Err(PlanError::Invalid(reason.into()));
        }
        let schema = Arc::clone(recursion.relations[index].1.schema());
        let nested = self.scope_of(recursion)?;
        let stream = self.scope.select(nested, index, schema)?;
        Ok(self.note(stream))
    }

    /// The node of the whole recursion, shared by its relations.
    fn scope_of(&mut self, recursion: &Recursion) -> Result<StreamId, PlanError> {
        let name = format!("recursion {}", recursion.fingerprint);
        if let Some(stream) = self.memo.streams.get(&name) {
            return Ok(*stream);
        }
        let mut closed: Vec<&Plan> = Vec::new();
        recursion.relations.iter().for_each(|(_, body)| collect_closed(body, &mut closed));
        let inputs = closed.iter().map(|plan| self.lower(plan)).collect::<Result<Vec<_>, _>>()?;
        let subcircuit = self.subcircuit(recursion, &closed)?;
        let schema: SchemaRef = Arc::clone(recursion.relations[0].1.schema());
        let stream = self.scope.add_nary(Box::new(subcircuit), &inputs, schema)?;
        self.memo.streams.insert(name, stream);
        Ok(self.note(stream))
    }

    fn subcircuit(&self, recursion: &Recursion, closed: &[&Plan]) -> Result<Subcircuit, PlanError> {
        let mut subcircuit = Subcircuit::new("recursive", "the recursive relation").with_limit(recursion.limit);
        let mut memo = Memo::default();
        for plan in closed {
            let import = subcircuit.import(Arc::clone(plan.schema()))?;
            memo.streams.insert(plan.fingerprint().to_owned(), import);
        }
        let mut relations: HashMap<RelationId, StreamId> = HashMap::new();
        for (id, body) in &recursion.relations {
            relations.insert(*id, subcircuit.feedback(Arc::clone(body.schema()))?);
        }
        let exports = build_bodies(&mut subcircuit, &mut memo, self.tables, &relations, recursion)?;
        for ((id, _), stream) in recursion.relations.iter().zip(exports) {
            subcircuit.connect(relations[id], stream)?;
            subcircuit.export(stream)?;
        }
        Ok(subcircuit)
    }
}

fn build_bodies(
    subcircuit: &mut Subcircuit,
    memo: &mut Memo,
    tables: &HashMap<String, StreamId>,
    relations: &HashMap<RelationId, StreamId>,
    recursion: &Recursion,
) -> Result<Vec<StreamId>, PlanError> {
    let mut inside = Builder { scope: subcircuit, memo, added: Vec::new(), tables, relations: Some(relations.clone()) };
    let body = |(_, plan): &(RelationId, Plan)| {
        let stream = inside.lower(plan)?;
        if recursion.distinct { inside.distinct(stream) } else { Ok(stream) }
    };
    recursion.relations.iter().map(body).collect()
}

/// The largest sub-plans that read no recursive relation.
fn collect_closed<'a>(plan: &'a Plan, closed: &mut Vec<&'a Plan>) {
    if !plan.free_relations().is_empty() {
        plan.inputs().iter().for_each(|input| collect_closed(input, closed));
    } else if closed.iter().all(|known| known.fingerprint() != plan.fingerprint()) {
        closed.push(plan);
    }
}
