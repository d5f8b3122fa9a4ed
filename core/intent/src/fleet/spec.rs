//! A fleet document with every reference resolved, not yet expanded.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;
use model::{
    Enforcement, Health, Layers, Memory, Name, NodeModelId, Rate, SiteKind, SwitchDialect, Versions,
};
use smol_str::SmolStr;

use super::exception::{self, Exception};
use super::layers;
use super::models::{self, MOST, Models, NvlinkDomain, PodModel, Ways};
use crate::Problem;
use crate::document::Document;
use crate::form::{self, Form, Shape};
use crate::refusal::Refusals;
use crate::tenant::overlap;
use crate::tree::{At, Pos, Tree};

pub(super) struct Spec {
    pub(super) name: At<SmolStr>,
    pub(super) target_asn: u16,
    pub(super) first_asn: At<u32>,
    pub(super) loopbacks: At<Ipv4Net>,
    pub(super) cables: At<Ipv4Net>,
    pub(super) uplink_rate: Option<Rate>,
    pub(super) layers: Option<At<Layers>>,
    pub(super) scrub: Vec<Memory>,
    pub(super) models: Models,
    pub(super) sites: Vec<Site>,
    pub(super) exceptions: Vec<Exception>,
}

pub(super) struct Site {
    pub(super) name: At<Name>,
    pub(super) jurisdiction: SmolStr,
    pub(super) kind: SiteKind,
    pub(super) cores: u32,
    pub(super) core_dialect: SwitchDialect,
    pub(super) pods: Vec<PodSpec>,
}

pub(super) struct PodSpec {
    pub(super) name: At<Name>,
    pub(super) content: PodContent,
}

pub(super) enum PodContent {
    /// Equal pods; numbered when there is a count.
    Modelled { model: PodModel, count: Option<u32> },
    /// One pod with every device by its own name.
    Listed { leaves: Vec<SwitchSpec>, spines: Vec<SwitchSpec>, nodes: Vec<NodeSpec> },
}

pub(super) struct SwitchSpec {
    pub(super) name: At<Name>,
    pub(super) dialect: SwitchDialect,
    pub(super) own: Own,
}

pub(super) struct NodeSpec {
    pub(super) name: At<Name>,
    pub(super) model: NodeModelId,
    /// The position of its leaf in the pod's list.
    pub(super) leaf: u32,
    pub(super) rack: Option<Name>,
    pub(super) nvlink: NvlinkDomain,
    pub(super) enforcement: Enforcement,
    pub(super) health: Health,
    pub(super) versions: Versions,
    pub(super) own: Own,
}

/// What a device says about itself instead of taking its turn.
#[derive(Clone, Copy, Default)]
pub(super) struct Own {
    pub(super) loopback: Option<At<Ipv4Addr>>,
    pub(super) asn: Option<At<u32>>,
}

const FLEET: Shape = Shape {
    what: "a fleet",
    needs: &["models", "sites"],
    may: &[
        "targetAsn",
        "firstAsn",
        "loopbacks",
        "cables",
        "uplinkRate",
        "layers",
        "scrub",
        "topologyLabels",
        "exceptions",
    ],
};

const SITE: Shape = Shape {
    what: "a site",
    needs: &["name", "jurisdiction", "pods"],
    may: &["kind", "cores", "coreDialect"],
};

const MODELLED_POD: Shape =
    Shape { what: "a pod with a model", needs: &["name", "model"], may: &["count"] };

const LISTED_POD: Shape = Shape {
    what: "a pod without a model",
    needs: &["name", "leaves", "nodes"],
    may: &["spines", "dialect", "leafDialect", "spineDialect", "enforcement"],
};

const SWITCH: Shape =
    Shape { what: "a switch", needs: &["name"], may: &["dialect", "loopback", "asn"] };

const NODE: Shape = Shape {
    what: "a node",
    needs: &["name", "model", "leaf"],
    may: &["rack", "nvlinkDomain", "enforcement", "health", "versions", "loopback", "asn"],
};

/// 4294967295 is reserved (RFC 7300).
pub(super) const LAST_ASN: u32 = u32::MAX - 1;

pub(super) fn read(document: &Document, out: &mut Refusals) -> Option<Spec> {
    form::name::<Name>(&document.name, out);
    let form = Form::open(&document.spec, &FLEET, out)?;
    let models = match form.get("models") {
        Some(tree) => models::read(tree, out),
        None => Models::default(),
    };
    let default = |value: Ipv4Net| At { value, pos: form.pos };
    let spec = Spec {
        name: document.name.clone(),
        target_asn: form.number("targetAsn", 1, 65_534, out).map_or(65_000, |at| at.value),
        first_asn: form
            .number("firstAsn", 1, u64::from(LAST_ASN), out)
            .unwrap_or(At { value: 4_200_000_000, pos: form.pos }),
        loopbacks: form.net("loopbacks", out).unwrap_or(default(LOOPBACKS)),
        cables: form.net("cables", out).unwrap_or(default(CABLES)),
        uplink_rate: form.rate("uplinkRate", out).map(|at| at.value),
        layers: layers::read(&form, out),
        scrub: layers::scrub(&form, out),
        sites: sites(&form, &models, out),
        exceptions: exception::read(form.list("exceptions", out), out),
        models,
    };
    if overlap(spec.loopbacks.value, spec.cables.value) {
        let problem = Problem::RangesOverlap {
            range: spec.cables.value.to_string(),
            other: spec.loopbacks.value.to_string(),
            place: out.place(spec.loopbacks.pos),
        };
        out.refuse(spec.cables.pos, problem);
    }
    Some(spec)
}

/// The ranges of a fleet that names none.
const LOOPBACKS: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(10, 255, 0, 0), 16);
const CABLES: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(172, 16, 0, 0), 12);

fn sites(form: &Form<'_>, models: &Models, out: &mut Refusals) -> Vec<Site> {
    let trees = form.list("sites", out);
    if trees.is_empty() && form.get("sites").is_some() {
        out.refuse(form.pos_of("sites"), Problem::EmptyList { key: "sites" });
    }
    trees.iter().filter_map(|tree| site(tree, models, out)).collect()
}

fn site(tree: &Tree, models: &Models, out: &mut Refusals) -> Option<Site> {
    let form = Form::open(tree, &SITE, out)?;
    let name = form.name("name", out);
    let jurisdiction = models::label(&form, "jurisdiction", out);
    let kind = form.word::<SiteKind>("kind", out);
    let cores = form.number("cores", 0, MOST, out);
    let core_dialect = form.word::<SwitchDialect>("coreDialect", out);
    let pods = form.list("pods", out).iter().filter_map(|tree| pod(tree, models, out)).collect();
    Some(Site {
        name: name?,
        jurisdiction: jurisdiction?,
        kind: kind.map_or(SiteKind::Core, |at| at.value),
        cores: cores.map_or(0, |at| at.value),
        core_dialect: core_dialect.map_or(SwitchDialect::Frr, |at| at.value),
        pods,
    })
}

fn pod(tree: &Tree, models: &Models, out: &mut Refusals) -> Option<PodSpec> {
    let has_model = match &tree.value {
        crate::tree::Value::Map(entries) => entries.iter().any(|(key, _)| key.value == "model"),
        _ => false,
    };
    let shape = if has_model { &MODELLED_POD } else { &LISTED_POD };
    let form = Form::open(tree, shape, out)?;
    let name = form.name("name", out);
    let content =
        if has_model { modelled(&form, models, out) } else { Some(listed(&form, models, out)) };
    Some(PodSpec { name: name?, content: content? })
}

fn modelled(form: &Form<'_>, models: &Models, out: &mut Refusals) -> Option<PodContent> {
    let count = form.number("count", 1, MOST, out).map(|at| at.value);
    let name = form.text("model", out)?;
    let model = models::find("pod model", &models.pods, &name, out)?;
    Some(PodContent::Modelled { model, count })
}

fn listed(form: &Form<'_>, models: &Models, out: &mut Refusals) -> PodContent {
    let ways = models::ways(form, out);
    let leaves = switches(form.list("leaves", out), ways.leaf, out);
    let listed_spines = form.list("spines", out);
    let spines = switches(listed_spines, ways.spine, out);
    if leaves.len() > 1 && listed_spines.is_empty() {
        let leaves = leaves.len();
        out.refuse(form.pos_of("spines"), Problem::NoSpine { leaves });
    }
    let by_name: BTreeMap<SmolStr, Option<u32>> = (0..)
        .zip(&leaves)
        .map(|(place, leaf)| (SmolStr::from(leaf.name.value.as_str()), Some(place)))
        .collect();
    let mut nodes: Vec<NodeSpec> = form
        .list("nodes", out)
        .iter()
        .filter_map(|tree| node(tree, &by_name, models, ways, out))
        .collect();
    // Nodes of a rack stand together, in the order they are listed.
    nodes.sort_by(|a, b| a.rack.cmp(&b.rack));
    PodContent::Listed { leaves, spines, nodes }
}

fn switches(trees: &[Tree], dialect: SwitchDialect, out: &mut Refusals) -> Vec<SwitchSpec> {
    let read_one = |tree| {
        let form = Form::open(tree, &SWITCH, out)?;
        let own_dialect = form.word::<SwitchDialect>("dialect", out);
        let own = own(&form, out);
        Some(SwitchSpec {
            name: form.name("name", out)?,
            dialect: own_dialect.map_or(dialect, |at| at.value),
            own,
        })
    };
    trees.iter().filter_map(read_one).collect()
}

/// The loopback and AS that a device names for itself.
pub(super) fn own(form: &Form<'_>, out: &mut Refusals) -> Own {
    Own {
        loopback: form.parsed::<Ipv4Addr>("loopback", out).filter(|at| is_usable(at, out)),
        asn: form.number("asn", 1, u64::from(LAST_ASN), out),
    }
}

fn is_usable(at: &At<Ipv4Addr>, out: &mut Refusals) -> bool {
    let address = at.value;
    let usable = !(address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || address.is_broadcast());
    if !usable {
        let problem = Problem::BadValue {
            key: "loopback",
            found: address.to_string(),
            expected: "a unicast address that a packet can be sent to".into(),
        };
        out.refuse(at.pos, problem);
    }
    usable
}

fn node(
    tree: &Tree,
    leaves: &BTreeMap<SmolStr, Option<u32>>,
    models: &Models,
    ways: Ways,
    out: &mut Refusals,
) -> Option<NodeSpec> {
    let form = Form::open(tree, &NODE, out)?;
    let name = form.name("name", out);
    let model = form
        .text("model", out)
        .and_then(|name| models::find("node model", &models.node_ids, &name, out));
    let leaf = form.text("leaf", out).and_then(|name| models::find("leaf", leaves, &name, out));
    let rack = form.name::<Name>("rack", out);
    let nvlink = form.word::<NvlinkDomain>("nvlinkDomain", out);
    let enforcement = form.word::<Enforcement>("enforcement", out);
    let health = form.word::<Health>("health", out);
    let own = own(&form, out);
    let of_model = |id: NodeModelId| models.nodes[id.index()].versions.clone();
    let mut versions = model.map(of_model).unwrap_or_default();
    if let Some(form) = form.form("versions", &models::VERSIONS, out) {
        models::change(&mut versions, &form, out);
    }
    Some(NodeSpec {
        name: name?,
        model: model?,
        leaf: leaf?,
        rack: rack.map(|rack| rack.value),
        nvlink: nvlink.map_or(NvlinkDomain::Node, |at| at.value),
        enforcement: enforcement.map_or(ways.enforcement, |at| at.value),
        health: health.map(|at| at.value).unwrap_or_default(),
        versions,
        own,
    })
}

impl Spec {
    /// Where a refusal of the whole fleet points to.
    pub(super) fn pos(&self) -> Pos {
        self.name.pos
    }
}
