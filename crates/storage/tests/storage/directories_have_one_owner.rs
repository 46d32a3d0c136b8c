//! One process has a directory; the second one is told who. The lock ends with its process, however that ends.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tailrace_storage::*;
use tempfile::TempDir;

const CHILD: &str = "TAILRACE_TEST_LOCK";

#[test]
fn the_second_one_is_told_who_has_it() {
    let directory = TempDir::new().unwrap();
    let lock = DirectoryLock::acquire(directory.path()).unwrap();
    let message = DirectoryLock::acquire(directory.path()).unwrap_err().to_string();
    assert!(message.contains(&format!("is in use by process {} on ", std::process::id())), "{message}");
    assert!(!message.contains("unknown"), "{message}");
    drop(lock);
    drop(DirectoryLock::acquire(directory.path()).unwrap());
}

/// Started again as a child by the test below, this holds a lock until it is killed. Otherwise it has nothing to do.
#[test]
fn holder() {
    if let Some(directory) = std::env::var_os(CHILD) {
        let _lock = DirectoryLock::acquire(Path::new(&directory)).unwrap();
        println!("\nlocked");
        loop {
            std::thread::park();
        }
    }
}

fn start_holder(directory: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "directories_have_one_owner::holder", "--nocapture"]).env(CHILD, directory);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "locked"));
    child
}

#[test]
fn a_killed_process_holds_nothing() {
    let directory = TempDir::new().unwrap();
    let mut child = start_holder(directory.path());
    let message = DirectoryLock::acquire(directory.path()).unwrap_err().to_string();
    assert!(message.contains(&format!("process {} on ", child.id())), "{message}");
    child.kill().unwrap();
    child.wait().unwrap();
    drop(DirectoryLock::acquire(directory.path()).unwrap());
}

#[cfg(unix)]
#[test]
fn a_lock_that_is_a_link_is_refused() {
    let directory = TempDir::new().unwrap();
    std::os::unix::fs::symlink("elsewhere", directory.path().join("lock")).unwrap();
    let message = DirectoryLock::acquire(directory.path()).unwrap_err().to_string();
    assert!(message.contains("is not a plain file"), "{message}");
}
