//! What one step changed.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use tailrace_trace::{ChangeBatch, TraceError};

use crate::parameters::{ByValue, by_value, without};
use crate::view::{ViewShape, ViewShapes};

/// The changes of all views in one atomic step.
pub struct StepChanges {
    version: u64,
    views: BTreeMap<String, Change>,
    /// What all views looked like at the step.
    shapes: Arc<ViewShapes>,
}

/// The change of one view; it is consolidated when somebody looks, so that nobody pays for a change that nobody reads.
struct Change {
    raw: ChangeBatch,
    consolidated: OnceLock<ChangeBatch>,
    /// How many of its first columns are parameters of the view.
    parameters: usize,
    by_value: OnceLock<ByValue>,
}

impl StepChanges {
    pub(crate) fn new(version: u64, shapes: Arc<ViewShapes>, views: Vec<(String, ChangeBatch)>) -> Self {
        let change = |(name, raw): (String, ChangeBatch)| {
            let parameters = shapes.get(&name).map_or(0, |shape| shape.parameters);
            (name, Change { raw, consolidated: OnceLock::new(), parameters, by_value: OnceLock::new() })
        };
        Self { version, views: views.into_iter().map(change).collect(), shapes: Arc::clone(&shapes) }
    }

    /// The version of the database after the step.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The views that changed.
    pub fn changed(&self) -> Result<Vec<&str>, TraceError> {
        let mut names = Vec::with_capacity(self.views.len());
        for (name, change) in &self.views {
            if !change.get()?.is_empty() {
                names.push(name.as_str());
            }
        }
        Ok(names)
    }

    /// The consolidated change of a view; None if the step did not touch it.
    pub fn get(&self, view: &str) -> Result<Option<&ChangeBatch>, TraceError> {
        self.views.get(view).map(Change::get).transpose()
    }

    /// The values of a view's parameters whose rows changed, by their keys.
    pub fn touched(&self, view: &str) -> Result<Vec<&[u8]>, TraceError> {
        match self.views.get(view) {
            Some(change) => Ok(change.by_value()?.keys().map(Vec::as_slice).collect()),
            None => Ok(Vec::new()),
        }
    }

    /// The consolidated change of the rows of one value, by its key, without the parameters; None if it did not change.
    pub fn get_of(&self, view: &str, key: &[u8]) -> Result<Option<ChangeBatch>, TraceError> {
        let Some(change) = self.views.get(view) else { return Ok(None) };
        let Some(rows) = change.by_value()?.get(key) else { return Ok(None) };
        Ok(Some(without(&change.get()?.take(rows)?, change.parameters)))
    }

    /// What a view looked like at the step, changed or not.
    pub fn shape(&self, view: &str) -> Option<&ViewShape> {
        self.shapes.get(view)
    }

    /// The views that there were at the step.
    pub fn views(&self) -> impl Iterator<Item = &str> {
        self.shapes.keys().map(String::as_str)
    }
}

impl Change {
    fn get(&self) -> Result<&ChangeBatch, TraceError> {
        if let Some(done) = self.consolidated.get() {
            return Ok(done);
        }
        let consolidated = self.raw.consolidate()?;
        Ok(self.consolidated.get_or_init(|| consolidated))
    }

    fn by_value(&self) -> Result<&ByValue, TraceError> {
        if let Some(done) = self.by_value.get() {
            return Ok(done);
        }
        let divided = by_value(self.get()?, self.parameters)?;
        Ok(self.by_value.get_or_init(|| divided))
    }
}
