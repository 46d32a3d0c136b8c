//! The tables and views of a database, as a SQL text sees them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tailrace_sql::{Catalog, CatalogEntry, NamedFunction, Plan};

use crate::table::Table;
use crate::view::View;

/// The names that a text may use.
pub(crate) struct Names<'a> {
    pub(crate) tables: &'a BTreeMap<String, Table>,
    pub(crate) views: &'a BTreeMap<String, View>,
    pub(crate) functions: &'a BTreeMap<String, NamedFunction>,
}

impl Catalog for Names<'_> {
    fn relation(&self, name: &str) -> Option<CatalogEntry> {
        if let Some(table) = lookup(self.tables, name) {
            let plan = Plan::table(&table.name, Arc::clone(&table.schema));
            let (key, defaults) = (table.key_names(), table.defaults.clone());
            return Some(CatalogEntry { plan, key, defaults, parameters: Vec::new() });
        }
        let view = lookup(self.views, name)?;
        let fields = view.asked.iter().flat_map(|asked| asked.parameters.schema.fields());
        let parameters = fields.map(|field| format!("${}", field.name())).collect();
        let (key, defaults) = (Vec::new(), HashMap::new());
        Some(CatalogEntry { plan: view.plan.clone(), key, defaults, parameters })
    }

    fn names(&self) -> Vec<String> {
        self.tables.keys().chain(self.views.keys()).cloned().collect()
    }

    fn function(&self, name: &str) -> Option<NamedFunction> {
        self.functions.get(&name.to_lowercase()).cloned()
    }
}

/// The entry of that name; without one, the only entry of that name in other letters.
fn lookup<'a, T>(entries: &'a BTreeMap<String, T>, name: &str) -> Option<&'a T> {
    entries.get(name).or_else(|| {
        let mut alike =
            entries.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, entry)| entry);
        alike.next().filter(|_| alike.next().is_none())
    })
}
