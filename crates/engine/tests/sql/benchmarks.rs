//! The queries of TPC-H and Nexmark can be planned and kept up to date.

use std::fs;
use std::path::PathBuf;

use crate::harness::{database, run};

fn texts(suite: &str) -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql").join(suite);
    let mut texts: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (path.file_stem().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap())
        })
        .collect();
    texts.sort();
    texts
}

/// All queries of a suite as views of one database.
fn plans(suite: &str) {
    let texts = texts(suite);
    let schema = texts.iter().find(|(name, _)| name == "schema").unwrap();
    let mut db = database(&schema.1);
    for (name, text) in texts.iter().filter(|(name, _)| name != "schema") {
        db.create_view_sql(name, text).unwrap_or_else(|error| panic!("{suite} {name}: {error}"));
    }
    run(&mut db, "SHOW VIEWS");
}

#[test]
fn tpc_h_is_planned() {
    plans("tpch");
}

#[test]
fn nexmark_is_planned() {
    plans("nexmark");
}
