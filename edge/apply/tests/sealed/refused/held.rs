//! A node holds no text that was not admitted.

use apply::{ManagedNode, NodeError};
use model::{Dialect, Generation};

fn main() {}

fn _hold(node: &mut dyn ManagedNode, texts: Vec<(Dialect, String)>) -> Result<(), NodeError> {
    node.hold(&(Generation(1), texts), &mut |_| {}).map(drop)
}
