//! The way that there is: text is proved by `verify`, sent as an order, and admitted by the node.

#![allow(clippy::unwrap_used, reason = "a way that ends early ends the test")]

use std::sync::Arc;

use apply::{Admitted, Offer, Order};
use model::{Epoch, Fleet, Generation, Owners};
use verify::Cleared;

/// A node that nobody works on.
const FLEET: &str = "
apiVersion: bulkhead.dev/v1
kind: Fleet
metadata: {name: town}
spec:
  models:
    nodes:
      box: {gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}, gpus: 8, nics: {count: 8, rate: 400Gbps}}
  sites:
    - name: ams
      jurisdiction: NL
      kind: core
      pods:
        - name: pod
          leaves: [{name: leaf-1, dialect: frr}]
          spines: [{name: spine-1, dialect: frr}]
          nodes: [{name: n1, model: box, leaf: leaf-1}]
";

pub(crate) fn main() {
    let source = intent::Source { file: "fleet.yaml", text: FLEET };
    let intent = intent::load(&[source]).unwrap();
    let plan = plan::next(&intent, &plan::Ledger::default()).unwrap().plan;
    let cleared = cleared(&intent.fleet, &plan.owners(), render::all(&plan));
    let orders = Order::all(&cleared, Epoch(1), Generation(1));
    assert_eq!(orders.len(), 2, "the switches");
    for order in orders {
        assert_eq!(admitted(&order).digest(), order.digest());
    }
}

fn cleared(fleet: &Arc<Fleet>, owners: &Owners, artifacts: Vec<model::Artifact>) -> Cleared {
    verify::clear(fleet, owners, artifacts).unwrap()
}

fn admitted(order: &Order) -> Admitted {
    Offer::of(order, |_| true).admit(order.name(), None).unwrap()
}
