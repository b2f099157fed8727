//! The `jnd` command.

fn main() {}
