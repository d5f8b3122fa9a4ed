//! A node's slices, as mig-parted is told of them.

use std::collections::BTreeMap;

use model::PciLayout;

use crate::say::say;

/// An instance of a GPU that is cut into slices.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MigInstance<'a> {
    /// The GPU; its module id is one more.
    pub gpu: u16,
    /// What it is, such as `1g.10gb`.
    pub profile: &'a str,
}

/// The configuration of mig-parted for a node with these instances and no others. It counts
/// instances and cannot say where each of them begins, so that whoever applies it must read that
/// back. GPUs that the layout does not have are left out.
#[must_use]
pub fn mig_parted(layout: &PciLayout, instances: &[MigInstance<'_>]) -> String {
    let mut cuts: BTreeMap<u16, BTreeMap<&str, u16>> = BTreeMap::new();
    for gpu in 0..layout.gpus.len() as u16 {
        cuts.extend(layout.minor(gpu).map(|minor| (minor, BTreeMap::new())));
    }
    for instance in instances {
        let cut = layout.minor(instance.gpu).and_then(|minor| cuts.get_mut(&minor));
        if let Some(cut) = cut {
            *cut.entry(instance.profile).or_default() += 1;
        }
    }
    let mut text = String::from(
        "# Instances are counted here and not placed: read back at which memory slot each begins.\n\
         version: v1\nmig-configs:\n  planned:\n",
    );
    for (minor, cut) in &cuts {
        say_gpu(*minor, cut, &mut text);
    }
    text
}

fn say_gpu(minor: u16, cut: &BTreeMap<&str, u16>, out: &mut String) {
    say!(out, "    - devices: [", minor, "]\n");
    if cut.is_empty() {
        out.push_str("      mig-enabled: false\n");
        return;
    }
    out.push_str("      mig-enabled: true\n      mig-devices:\n");
    for (profile, count) in cut {
        say!(out, "        \"", *profile, "\": ", count, "\n");
    }
}
