//! A gang's place in words: its leaves, its nodes, and which GPUs of each.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write};

use model::{Fleet, NodeId};
use plan::place::{FabricKeys, Ground, SliceAt, Spot};
use serde::Serialize;

use crate::words::{DIM, NAME, Table, cell, number, painted, plural};

/// A place as people and programs read it.
#[derive(Serialize)]
pub(in crate::command) struct SpotView {
    site: String,
    pod: String,
    product: String,
    gpus: u32,
    /// The numbers that keep it apart on the fabrics of GPUs.
    #[serde(flatten)]
    keys: FabricKeys,
    leaves: Vec<LeafView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<NodeView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    slices: Vec<SliceView>,
}

#[derive(Serialize)]
struct LeafView {
    leaf: String,
    nodes: u32,
}

/// Whole GPUs of one node, with what goes with them.
#[derive(Serialize)]
struct NodeView {
    node: String,
    /// Module ids of the board, from 1.
    modules: Vec<u32>,
    /// Numbers of its interfaces, from 0.
    interfaces: Vec<u16>,
    numa: BTreeSet<u16>,
}

/// One slice of one GPU, with what goes with it.
#[derive(Serialize)]
struct SliceView {
    node: String,
    module: u32,
    profile: &'static str,
    /// Its first memory slot.
    start: u8,
    /// The number of its interface, and of the virtual function there.
    interface: Option<u16>,
    function: Option<u16>,
}

/// More leaves than this are for programs.
const MOST_LEAVES: usize = 16;
/// And more nodes, and more slices.
const MOST_NODES: usize = 8;

impl SpotView {
    pub(in crate::command) fn of(ground: &Ground, fleet: &Fleet, spot: &Spot) -> Self {
        let mut nodes: Vec<(NodeId, u64)> = ground.gpus(spot).collect();
        nodes.sort_unstable();
        let mut slices: Vec<&SliceAt> = spot.slices.iter().collect();
        slices.sort_unstable_by_key(|slice| (slice.node, slice.gpu, slice.start));
        let first = nodes.first().map(|(node, _)| *node).or(slices.first().map(|slice| slice.node));
        let first = first.map(|node| &fleet.nodes[node.index()]);
        let pod = first.map(|node| &fleet.pods[node.pod.index()]);
        let product = first.map(|node| &fleet.node_models[node.model.index()].gpu.product);
        Self {
            site: pod.map(|pod| fleet.sites[pod.site.index()].name.to_string()).unwrap_or_default(),
            pod: pod.map(|pod| pod.name.to_string()).unwrap_or_default(),
            product: product.map(ToString::to_string).unwrap_or_default(),
            gpus: ground.count(spot),
            keys: spot.keys,
            leaves: ground
                .leaves(spot)
                .into_iter()
                .map(|(leaf, nodes)| LeafView { leaf: leaf.to_string(), nodes })
                .collect(),
            nodes: nodes.into_iter().map(|at| NodeView::of(ground, fleet, at)).collect(),
            slices: slices.into_iter().map(|slice| SliceView::of(ground, fleet, slice)).collect(),
        }
    }

    /// Where, in a few words: by node if there are few.
    pub(in crate::command) fn whereabouts(&self) -> String {
        let nodes = self.nodes.iter();
        match &self.nodes[..] {
            [_] | [_, _] | [_, _, _] if self.slices.is_empty() => nodes
                .map(|node| format!("{} (modules {})", node.node, ranges(&node.modules)))
                .collect::<Vec<_>>()
                .join(", "),
            _ => format!("{} in pod {}", self.spread(), self.pod),
        }
    }

    /// What and where, in one line.
    pub(in crate::command) fn summary(&self) -> String {
        let what = match self.slices.first() {
            None => plural(self.gpus as usize, &format!("{} GPU", self.product)),
            Some(slice) => {
                let slices =
                    plural(self.slices.len(), &format!("{} {} slice", self.product, slice.profile));
                format!("{slices} on {}", plural(self.gpus as usize, "GPU"))
            }
        };
        format!("{what} in pod {}: {}", self.pod, self.spread())
    }

    fn spread(&self) -> String {
        let nodes: u32 = self.leaves.iter().map(|leaf| leaf.nodes).sum();
        let below = match &self.leaves[..] {
            [only] => only.leaf.clone(),
            leaves => format!("{} leaves", leaves.len()),
        };
        format!("{} below {below}", plural(nodes as usize, "node"))
    }

    pub(in crate::command) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.leaves.len() > 1 {
            let mut table = Table::with_head(2, &["leaf", "nodes"]);
            for leaf in self.leaves.iter().take(MOST_LEAVES) {
                table.push(vec![painted(NAME, &leaf.leaf), number(leaf.nodes as usize)]);
            }
            table.write(out)?;
            more(self.leaves.len(), MOST_LEAVES, out)?;
        }
        if !self.nodes.is_empty() && self.nodes.len() <= MOST_NODES {
            let mut table = Table::with_head(2, &["node", "modules", "interfaces", "numa"]);
            for node in &self.nodes {
                table.push(vec![
                    painted(NAME, &node.node),
                    cell(ranges(&node.modules)),
                    cell(ranges(&node.interfaces)),
                    cell(ranges(&node.numa)),
                ]);
            }
            table.write(out)?;
        }
        if !self.slices.is_empty() {
            self.write_slices(out)?;
        }
        self.write_keys(out)
    }

    fn write_keys(&self, out: &mut dyn Write) -> io::Result<()> {
        let pkey = self.keys.pkey.map(|pkey| format!("P_Key {pkey:#06x}"));
        let channel = self.keys.channel.map(|channel| format!("NVLink channel {channel}"));
        let keys: Vec<String> = pkey.into_iter().chain(channel).collect();
        match keys.is_empty() {
            true => Ok(()),
            false => writeln!(out, "  {DIM}{}{DIM:#}", keys.join(", ")),
        }
    }

    fn write_slices(&self, out: &mut dyn Write) -> io::Result<()> {
        let head = ["node", "module", "profile", "slot", "interface", "function"];
        let mut table = Table::with_head(2, &head);
        let shown = |number: Option<u16>| cell(number.map_or("-".into(), |it| it.to_string()));
        for slice in self.slices.iter().take(MOST_NODES) {
            table.push(vec![
                painted(NAME, &slice.node),
                cell(slice.module),
                cell(slice.profile),
                cell(slice.start),
                shown(slice.interface),
                shown(slice.function),
            ]);
        }
        table.write(out)?;
        more(self.slices.len(), MOST_NODES, out)
    }
}

impl NodeView {
    fn of(ground: &Ground, fleet: &Fleet, (node, gpus): (NodeId, u64)) -> Self {
        let at = &fleet.nodes[node.index()];
        let numa = &fleet.node_models[at.model.index()].gpu_numa;
        let modules: Vec<u32> = Ground::modules(gpus).collect();
        Self {
            node: at.name.to_string(),
            interfaces: ground.nics(node, gpus).collect(),
            numa: modules
                .iter()
                .filter_map(|module| numa.get(*module as usize - 1))
                .copied()
                .collect(),
            modules,
        }
    }
}

impl SliceView {
    fn of(ground: &Ground, fleet: &Fleet, slice: &SliceAt) -> Self {
        let at = &fleet.nodes[slice.node.index()];
        let product = &fleet.node_models[at.model.index()].gpu.product;
        let profile = model::mig_profiles(product).get(usize::from(slice.profile));
        let (interface, function) = ground.vf(slice).unzip();
        Self {
            node: at.name.to_string(),
            module: u32::from(slice.gpu) + 1,
            profile: profile.map_or("", |profile| profile.name),
            start: slice.start,
            interface,
            function,
        }
    }
}

fn more(all: usize, shown: usize, out: &mut dyn Write) -> io::Result<()> {
    match all.saturating_sub(shown) {
        0 => Ok(()),
        more => writeln!(out, "  {DIM}and {more} more (`-o json` has them all){DIM:#}"),
    }
}

/// Ascending numbers, shortened: `1-4 7`.
fn ranges<'a, T>(numbers: impl IntoIterator<Item = &'a T>) -> String
where
    T: Copy + Into<u32> + fmt::Display + 'a,
{
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        let number: u32 = (*number).into();
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let run = |(first, last): &(u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_one_run() {
        assert_eq!(ranges(&[1_u32, 2, 3, 4, 7]), "1-4 7");
        assert_eq!(ranges(&[0_u16]), "0");
        assert_eq!(ranges::<u16>(&[]), "");
    }
}
