//! Tidy: the rules of the house that no compiler checks, as tests over the text of the tree.
//!
//! Each file holds one rule. A rule is a pure function from files to findings, so that every rule is tried twice: on the tree,
//! where it must find nothing, and on a small bad example, where it must find something. A finding says where, the rule says
//! how to mend it.

mod addresses;
mod dag;
mod finding;
mod forbidden;
mod headers;
mod links;
mod lints;
mod names;
mod operator_docs;
mod random_tests;
mod sizes;
mod tree;
mod unsafe_code;
