//! The native module `tailrace._tailrace`: newtypes over the engine. One Python class = one file = one stub.
//!
//! It contains no logic of its own: it converts Python values to Arrow and back, releases the interpreter while the engine works, and maps errors by
//! variant. Everything goes through [`enter::enter`].

mod aggregate;
mod arrow_table;
mod bench;
mod callback;
mod capsule;
mod database;
mod enter;
mod error;
mod expr;
mod literal;
mod plan;
mod rows;
mod scalars;
mod step;
mod types;

use pyo3::prelude::*;

/// Columns come and go by the megabyte. An allocator that keeps its pages spares the kernel from mapping and zeroing them again in every step.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The native module.
#[pymodule]
mod _tailrace {
    use super::*;

    #[pymodule_export]
    use super::aggregate::Aggregate;
    #[pymodule_export]
    use super::arrow_table::ArrowTable;
    #[pymodule_export]
    use super::database::Database;
    #[pymodule_export]
    use super::expr::Expr;
    #[pymodule_export]
    use super::plan::Plan;
    #[pymodule_export]
    use super::step::Step;
    #[pymodule_export]
    use super::types::Type;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        error::register(module)
    }

    /// Seconds to consolidate and index that many unsorted (i64, i64) rows, best of five.
    #[pyfunction]
    fn bench_consolidate(py: Python<'_>, rows: usize) -> PyResult<f64> {
        enter::enter(py, || Ok(bench::consolidate(rows, 5)?))
    }

    /// Seconds to merge two indexed batches of that many (i64, i64) rows each, best of five.
    #[pyfunction]
    fn bench_merge(py: Python<'_>, rows: usize) -> PyResult<f64> {
        enter::enter(py, || Ok(bench::merge(rows, 5)?))
    }
}
