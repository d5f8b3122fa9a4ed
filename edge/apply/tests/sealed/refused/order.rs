//! Nothing is sent but what was cleared.

use apply::Order;
use model::{Artifact, Epoch, Generation};

fn main() {}

fn _order(artifacts: Vec<Artifact>) -> Vec<Order> {
    Order::all(&artifacts, Epoch(1), Generation(1))
}
