//! Dialect `versions`: the software that a node should report.

use model::NodeId;
use plan::Plan;

use crate::node::node;
use crate::say::say;

/// What runs on the node, as the fleet says. What nobody said has no line.
pub(crate) fn head(plan: &Plan, id: NodeId, out: &mut String) {
    let versions = &node(plan, id).versions;
    let components = [
        ("driver ", &versions.driver),
        ("kernel ", &versions.kernel),
        ("firmware ", &versions.firmware),
        ("toolkit ", &versions.toolkit),
    ];
    for (component, version) in components {
        if !version.is_empty() {
            say!(out, component, version.as_str(), "\n");
        }
    }
    let booted = if versions.secure_boot { "yes" } else { "no" };
    say!(out, "secure-boot ", booted, "\n");
}
