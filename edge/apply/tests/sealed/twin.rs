//! The way that there is: text is proved by `verify`, sent as an order, and admitted by the node.

#![allow(clippy::unwrap_used, reason = "a way that ends early ends the test")]

use std::sync::Arc;

use apply::{Admitted, Offer, Order};
use model::{Epoch, Fleet, Generation, Owners};
use verify::Cleared;

/// A switch with nothing on it.
const FLEET: &str = "
apiVersion: bulkhead.dev/v1
kind: Fleet
metadata: {name: town}
spec:
  sites:
    - name: ams
      jurisdiction: NL
      kind: core
      pods: [{name: pod, leaves: [{name: leaf-1, dialect: frr}]}]
";

pub(crate) fn main() {
    let source = intent::Source { file: "fleet.yaml", text: FLEET };
    let intent = intent::load(&[source]).unwrap();
    let plan = plan::next(&intent, &plan::Ledger::default()).unwrap().plan;
    let cleared = cleared(&intent.fleet, &plan.owners(), render::all(&plan));
    for order in Order::all(&cleared, Epoch(1), Generation(1)) {
        let admitted = admitted(&order);
        assert_eq!(admitted.digest(), order.digest());
    }
}

fn cleared(fleet: &Arc<Fleet>, owners: &Owners, artifacts: Vec<model::Artifact>) -> Cleared {
    verify::clear(fleet, owners, artifacts).unwrap()
}

fn admitted(order: &Order) -> Admitted {
    Offer::of(order, |_| true).admit(order.name(), None).unwrap()
}
