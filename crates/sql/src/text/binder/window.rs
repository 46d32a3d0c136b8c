//! Named windows: a reference to one becomes its definition.

use datafusion_common::Result;
use datafusion_sql::sqlparser::ast::{
    Function, Ident, NamedWindowDefinition, NamedWindowExpr, WindowSpec, WindowType,
};

use super::{normal, refused};

/// Writes out the window of a call.
pub(super) fn opened(call: &mut Function, windows: &[NamedWindowDefinition]) -> Result<()> {
    let spec = match &call.over {
        Some(WindowType::NamedWindow(name)) => definition(name, windows, windows.len() + 1)?,
        Some(WindowType::WindowSpec(spec)) => extended(spec, windows, windows.len() + 1)?,
        None => return Ok(()),
    };
    call.over = Some(WindowType::WindowSpec(spec));
    Ok(())
}

fn definition(name: &Ident, windows: &[NamedWindowDefinition], depth: usize) -> Result<WindowSpec> {
    let mut named = windows.iter().filter(|known| normal(&known.0) == normal(name));
    match (named.next(), named.next(), depth) {
        (Some(NamedWindowDefinition(_, NamedWindowExpr::NamedWindow(other))), None, 1..) => {
            definition(other, windows, depth - 1)
        }
        (Some(NamedWindowDefinition(_, NamedWindowExpr::WindowSpec(spec))), None, 1..) => {
            extended(spec, windows, depth - 1)
        }
        (Some(_), Some(_), _) => Err(refused(&name.value, format!("Window '{name}' is defined twice"))),
        (Some(_), None, _) => Err(refused(&name.value, format!("Window '{name}' is defined by itself"))),
        (None, ..) => {
            let known: Vec<String> = windows.iter().map(|known| known.0.value.clone()).collect();
            let reason = format!("Window '{name}' is not found. Existing windows: {}", known.join(", "));
            Err(refused(&name.value, reason))
        }
    }
}

/// A definition that builds on another one: its partition and order come first.
fn extended(spec: &WindowSpec, windows: &[NamedWindowDefinition], depth: usize) -> Result<WindowSpec> {
    let Some(base) = &spec.window_name else { return Ok(spec.clone()) };
    let base = definition(base, windows, depth)?;
    let mut spec = spec.clone();
    spec.window_name = None;
    if spec.partition_by.is_empty() {
        spec.partition_by = base.partition_by;
    }
    if spec.order_by.is_empty() {
        spec.order_by = base.order_by;
    }
    if spec.window_frame.is_none() {
        spec.window_frame = base.window_frame;
    }
    Ok(spec)
}
