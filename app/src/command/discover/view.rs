//! A node's hardware, as programs get it.

use std::collections::BTreeMap;

use model::{Dialect, Name, PciAddress};
use observe::hardware::{Card, Caution, Hardware, Kind, MigCut, Note, NvlinkFabric, PciFunction};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Answer<'a> {
    pub(super) model: &'a Name,
    /// Lines for `spec` of a Fleet document.
    pub(super) document: &'a str,
    pub(super) functions: Vec<FunctionView<'a>>,
    pub(super) beneath: BTreeMap<String, Vec<String>>,
    pub(super) notes: Vec<NoteView<'a>>,
    pub(super) texts: BTreeMap<Dialect, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunctionView<'a> {
    address: String,
    is: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u16>,
    id: String,
    iommu_group: u16,
    numa_node: u16,
    driver: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mac: Option<&'a str>,
    /// What the driver's library says of a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    board: Option<BoardView<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BoardView<'a> {
    uuid: Option<&'a str>,
    module: Option<u16>,
    mig: Option<MigView>,
    nvlinks: Option<NvlinksView>,
    fabric: Option<FabricView<'a>>,
}

#[derive(Serialize)]
struct MigView {
    on: bool,
    instances: Vec<InstanceView>,
}

#[derive(Serialize)]
struct InstanceView {
    id: u32,
    profile: String,
    start: u32,
    size: u32,
}

#[derive(Serialize)]
struct NvlinksView {
    active: u16,
    all: u16,
}

#[derive(Serialize)]
struct FabricView<'a> {
    is: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clique: Option<u32>,
}

#[derive(Serialize)]
pub(super) struct NoteView<'a> {
    caution: &'static str,
    said: &'a str,
}

impl<'a> FunctionView<'a> {
    pub(super) fn all(node: &'a Hardware) -> Vec<Self> {
        let functions = node.functions.iter();
        functions.map(|(address, function)| Self::of(node, *address, function)).collect()
    }

    fn of(node: &'a Hardware, address: PciAddress, function: &'a PciFunction) -> Self {
        let (is, number) = match function.kind {
            Some(Kind::Gpu(gpu)) => ("gpu", node.order_is_known.then_some(gpu + 1)),
            Some(Kind::Nic(nic)) => ("nic", Some(nic)),
            Some(Kind::Vf(_, vf)) => ("vf", Some(vf)),
            Some(Kind::Other) | None => ("other", None),
        };
        let board = match function.kind {
            Some(Kind::Gpu(gpu)) => node.card(gpu).map(|card| BoardView::of(node, gpu, card)),
            _ => None,
        };
        Self {
            address: address.to_string(),
            is,
            number,
            id: format!("{:04x}:{:04x}", function.vendor, function.device),
            iommu_group: function.group,
            numa_node: function.numa,
            driver: function.driver.as_deref(),
            mac: function.mac.as_deref(),
            board,
        }
    }
}

impl<'a> BoardView<'a> {
    fn of(node: &Hardware, gpu: u16, card: &'a Card) -> Self {
        Self {
            uuid: card.uuid.as_deref(),
            module: card.module,
            mig: card.cut.as_ref().map(|cut| MigView::of(node, gpu, cut)),
            nvlinks: card.nvlinks.map(|links| NvlinksView { active: links.active, all: links.all }),
            fabric: card.fabric.as_ref().map(FabricView::of),
        }
    }
}

impl MigView {
    fn of(node: &Hardware, gpu: u16, cut: &MigCut) -> Self {
        let instances = cut.instances.iter().map(|instance| InstanceView {
            id: instance.id,
            profile: node.profile(gpu, instance),
            start: instance.start,
            size: instance.size,
        });
        Self { on: cut.is_on, instances: instances.collect() }
    }
}

impl<'a> FabricView<'a> {
    fn of(fabric: &'a NvlinkFabric) -> Self {
        let outside = |is| Self { is, cluster: None, clique: None };
        match fabric {
            NvlinkFabric::NotStarted => outside("not-started"),
            NvlinkFabric::Joining => outside("joining"),
            NvlinkFabric::Failed(..) => outside("failed"),
            NvlinkFabric::Joined { cluster, clique } => {
                Self { is: "joined", cluster: Some(cluster), clique: Some(*clique) }
            }
        }
    }
}

impl<'a> NoteView<'a> {
    pub(super) fn of(note: &'a Note) -> Self {
        Self { caution: Caution::as_str(note.caution), said: &note.said }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::schema;

    #[test]
    fn whatever_the_library_says_of_a_gpu_is_written_as_its_schema_has_it() {
        let joined = NvlinkFabric::Joined { cluster: "b1".to_owned(), clique: 3 };
        let failed = NvlinkFabric::Failed(9, "no route".to_owned());
        let fabrics = [NvlinkFabric::NotStarted, NvlinkFabric::Joining, joined, failed];
        let known = fabrics.iter().map(|fabric| BoardView {
            uuid: Some("GPU-1"),
            module: Some(1),
            mig: None,
            nvlinks: Some(NvlinksView { active: 18, all: 18 }),
            fabric: Some(FabricView::of(fabric)),
        });
        let silent = BoardView { uuid: None, module: None, mig: None, nvlinks: None, fabric: None };
        let functions = known.chain([silent]).map(|board| FunctionView {
            address: "0000:1b:00.0".to_owned(),
            is: "gpu",
            number: None,
            id: "10de:2330".to_owned(),
            iommu_group: 16,
            numa_node: 0,
            driver: None,
            mac: None,
            board: Some(board),
        });
        let answer = Answer {
            model: &"hgx".parse().unwrap(),
            document: "models: {}",
            functions: functions.collect(),
            beneath: BTreeMap::new(),
            notes: Vec::new(),
            texts: BTreeMap::new(),
        };
        schema::insist("discover", &answer);
    }
}
