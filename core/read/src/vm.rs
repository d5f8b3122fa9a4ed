//! Virtual machines as libvirt describes them, one domain after the other, as they are sent and as
//! `virsh dumpxml` prints them.

use std::str::FromStr;

use model::{API_GROUP, Confidential, JobName, PciAddress};
use roxmltree::{Document, Error, Node};

use crate::dialect::{self, Compared, Description, Ignored};
use crate::values::Why;
use crate::{Claim, Fact, Hold, Reading, Unknown};

/// What is known of it. An ignored line is an element with all that stands in it.
pub(crate) const DESCRIPTION: Description = Description {
    consumer: "libvirt, by `virsh define` and `virsh dumpxml`",
    ignored: &[
        Ignored::free("", "clock", "what a machine is made of"),
        Ignored::free("", "cpu", "what a machine is made of"),
        Ignored::free("", "cputune", "what a machine is made of"),
        Ignored::free("", "currentMemory", "what a machine is made of"),
        Ignored::free("", "description", "what a machine is made of"),
        Ignored::free("devices", "alias", "what a machine is made of"),
        Ignored::free("devices", "audio", "what a machine is made of"),
        Ignored::free("devices", "controller", "what a machine is made of"),
        Ignored::free("devices", "emulator", "what a machine is made of"),
        Ignored::free("devices", "input", "what a machine is made of"),
        Ignored::free("devices", "iommu", "what a machine is made of"),
        Ignored::free("devices", "memballoon", "what a machine is made of"),
        Ignored::free("devices", "rng", "what a machine is made of"),
        Ignored::free("devices", "video", "what a machine is made of"),
        Ignored::free("devices", "watchdog", "what a machine is made of"),
        Ignored::free("", "features", "what a machine is made of"),
        Ignored::free("", "genid", "what a machine is made of"),
        Ignored::free("", "iothreads", "what a machine is made of"),
        Ignored::free("", "memory", "what a machine is made of"),
        Ignored::free("", "name", "what a machine is made of"),
        Ignored::free("", "on_crash", "what a machine is made of"),
        Ignored::free("", "on_poweroff", "what a machine is made of"),
        Ignored::free("", "on_reboot", "what a machine is made of"),
        Ignored::free("", "os", "what a machine is made of"),
        Ignored::free("", "pm", "what a machine is made of"),
        Ignored::free("", "resource", "what a machine is made of"),
        Ignored::free("", "seclabel", "what a machine is made of"),
        Ignored::free("", "title", "what a machine is made of"),
        Ignored::free("", "uuid", "what a machine is made of"),
        Ignored::free("", "vcpu", "what a machine is made of"),
    ],
    demanded: &[],
    uncompared: &[],
    compared: Compared::Claims,
    otherwise: &[],
    read,
};

const NOT_READ: Why = "nobody knows what of the host or of others this gives to the machine";
const NOT_AN_ADDRESS: Why = "a PCI address has a domain, a bus, a slot and a function in hex";

fn read(text: &str) -> Reading {
    let mut reading = Reading::default();
    let mut before = 0;
    for domain in domains(text) {
        if !domain.trim_ascii().is_empty() {
            Sheet::new(domain, before, &mut reading).read();
        }
        before += domain.lines().count() as u32;
    }
    reading
}

/// Each domain with what stands before it: libvirt ends one with a line of its own.
fn domains(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut end = 0;
        for line in rest.split_inclusive('\n') {
            end += line.len();
            if line.trim_ascii() == "</domain>" {
                break;
            }
        }
        let (domain, after) = rest.split_at(end);
        rest = after;
        (!domain.is_empty()).then_some(domain)
    })
}

/// Where what one domain says is written down.
struct Sheet<'t, 'r> {
    text: &'t str,
    /// How many lines stand before it.
    before: u32,
    reading: &'r mut Reading,
    claims: usize,
    unknown: usize,
    /// Lines are counted on from the last place that was asked for: elements come in order.
    counted: (usize, u32),
}

impl<'t, 'r> Sheet<'t, 'r> {
    fn new(text: &'t str, before: u32, reading: &'r mut Reading) -> Self {
        let (claims, unknown) = (reading.claims.len(), reading.unknown.len());
        Self { text, before, reading, claims, unknown, counted: (0, before + 1) }
    }

    fn read(mut self) {
        // One element a line is many; a text with more of them is no machine.
        const MOST_NODES: u32 = 1 << 16;
        let options = roxmltree::ParsingOptions { nodes_limit: MOST_NODES, ..Default::default() };
        match Document::parse_with_options(self.text, options) {
            Ok(document) => self.domain(&document),
            Err(error) => self.broken(&error),
        }
        self.settle();
    }

    fn broken(&mut self, error: &Error) {
        let last = self.text.lines().count().max(1) as u32;
        let line = self.before + error.pos().row.clamp(1, last);
        self.refuse(line, "this is no XML, or an entity that nobody may use");
    }

    fn domain(&mut self, document: &Document<'_>) {
        let root = document.root_element();
        if root.tag_name().name() != "domain" {
            return self.unknown(root, "a text of virtual machines has domains");
        }
        for comment in document.root().children().filter(Node::is_comment) {
            self.ignore(comment);
        }
        let job = root.descendants().find(|node| is_job(*node)).and_then(value::<JobName>);
        let Some(job) = job else {
            return self.unknown(root, "a machine must say in its metadata whose job it is");
        };
        self.attributes(root, &["id", "type"]);
        let confidential = self.confidential(root);
        let is_second = |element: Node<'_, '_>| {
            let name = element.tag_name().name();
            element.prev_siblings().skip(1).any(|before| before.has_tag_name(name))
        };
        for element in root.children() {
            match element.tag_name().name() {
                _ if !element.is_element() => self.stray(element),
                "metadata" | "numatune" | "devices" | "launchSecurity" if is_second(element) => {
                    self.unknown(element, "a machine has one of these");
                }
                "metadata" => self.metadata(element, &job, confidential),
                "numatune" => self.near(element, &job),
                "devices" => self.devices(element, &job),
                "launchSecurity" => {}
                name if dialect::passes(&DESCRIPTION, "", name) => self.ignore(element),
                _ => self.unknown(element, NOT_READ),
            }
        }
    }

    fn metadata(&mut self, metadata: Node<'_, '_>, job: &JobName, kept: Option<Confidential>) {
        let mut is_first = true;
        for element in metadata.children() {
            if !element.is_element() {
                self.stray(element);
            } else if is_job(element) && std::mem::take(&mut is_first) {
                self.claim(element, Hold::Guest { job: job.clone(), confidential: kept });
            } else {
                self.unknown(element, "metadata names one job and nothing else");
            }
        }
    }

    /// How the host is kept out, unless the host may debug the machine: then it is not.
    fn confidential(&mut self, root: Node<'_, '_>) -> Option<Confidential> {
        let security = root.children().find(|node| node.has_tag_name("launchSecurity"))?;
        let (kept, debug) = match security.attribute("type") {
            Some("sev-snp") => (Confidential::SevSnp, 1 << 19),
            Some("tdx") => (Confidential::Tdx, 1),
            _ => {
                self.unknown(security, "what keeps the host out is sev-snp or tdx");
                return None;
            }
        };
        let mut is_closed = false;
        for element in security.children() {
            match element.tag_name().name() {
                _ if !element.is_element() => self.stray(element),
                "policy" => match element.text().and_then(hex) {
                    Some(policy) if policy & debug == 0 => is_closed = true,
                    _ => self.unknown(element, "with this policy the host may read the machine"),
                },
                "cbitpos" | "reducedPhysBits" | "quoteGenerationService" => self.ignore(element),
                _ => self.unknown(element, NOT_READ),
            }
        }
        is_closed.then_some(kept)
    }

    fn near(&mut self, tune: Node<'_, '_>, job: &JobName) {
        for element in tune.children() {
            match element.tag_name().name() {
                _ if !element.is_element() => self.stray(element),
                "memory" if element.attribute("mode") == Some("strict") => {
                    match element.attribute("nodeset").and_then(nodes) {
                        Some(nodes) => nodes.into_iter().for_each(|numa| {
                            self.claim(element, Hold::GuestNear { job: job.clone(), numa });
                        }),
                        None => self.unknown(element, "NUMA nodes are a list such as 0-1,3"),
                    }
                }
                "memory" => self.unknown(element, "memory may be elsewhere unless it is strict"),
                _ => self.unknown(element, NOT_READ),
            }
        }
    }

    fn devices(&mut self, devices: Node<'_, '_>, job: &JobName) {
        for element in devices.children() {
            let name = element.tag_name().name();
            let is_ignored = || dialect::passes(&DESCRIPTION, "devices", name);
            match (name, element.attribute("type")) {
                _ if !element.is_element() => self.stray(element),
                ("hostdev", Some("pci")) => {
                    self.attributes(element, &["managed", "mode", "type"]);
                    self.function(element, job, &["source", "driver", "alias", "address"]);
                }
                ("interface", Some("hostdev")) => {
                    self.attributes(element, &["managed", "type"]);
                    self.function(element, job, &["source", "driver", "alias", "address", "mac"]);
                }
                _ if is_ignored() => self.ignore(element),
                _ => self.unknown(element, NOT_READ),
            }
        }
    }

    /// A function of the host that is passed through, by the address it has there.
    fn function(&mut self, device: Node<'_, '_>, job: &JobName, may: &[&str]) {
        let elements = || device.children().filter(Node::is_element);
        for element in elements().filter(|element| !may.contains(&element.tag_name().name())) {
            self.unknown(element, NOT_READ);
        }
        let source = elements().find(|element| element.has_tag_name("source"));
        let addresses = source.into_iter().flat_map(|source| source.children());
        let mut addresses = addresses.filter(Node::is_element);
        match (addresses.next().map(|at| (at, address(at))), addresses.next()) {
            (Some((at, Some(pci))), None) => {
                self.claim(at, Hold::GuestHas { job: job.clone(), pci });
            }
            (Some((at, None)), _) => self.unknown(at, NOT_AN_ADDRESS),
            _ => self.unknown(device, NOT_AN_ADDRESS),
        }
    }

    fn attributes(&mut self, element: Node<'_, '_>, known: &[&str]) {
        if element.attributes().any(|attribute| !known.contains(&attribute.name())) {
            self.unknown(element, NOT_READ);
        }
    }

    /// What stands between elements: comments, and nothing else but space.
    fn stray(&mut self, node: Node<'_, '_>) {
        if node.is_comment() {
            self.ignore(node);
        } else if node.text().is_some_and(|text| !text.trim_ascii().is_empty()) {
            self.unknown(node, "between elements stands nothing");
        }
    }

    fn claim(&mut self, at: Node<'_, '_>, hold: Hold) {
        let line = self.line(at.range().start);
        self.reading.claims.push(Claim { line, fact: Fact::Holds(hold) });
    }

    fn ignore(&mut self, at: Node<'_, '_>) {
        let (first, last) = (self.line(at.range().start), self.line(at.range().end));
        self.reading.ignored.extend(first..=last);
    }

    fn unknown(&mut self, at: Node<'_, '_>, why: Why) {
        let line = self.line(at.range().start);
        self.refuse(line, why);
    }

    fn refuse(&mut self, line: u32, why: Why) {
        let text = self.text.lines().nth((line - self.before - 1) as usize).unwrap_or_default();
        self.reading.unknown.push(Unknown { line, text: text.trim().into(), why });
    }

    fn line(&mut self, at: usize) -> u32 {
        let (from, line) = if at < self.counted.0 { (0, self.before + 1) } else { self.counted };
        let between = self.text.as_bytes().get(from..at).unwrap_or_default();
        let line = line + between.iter().filter(|byte| **byte == b'\n').count() as u32;
        self.counted = (at, line);
        line
    }

    /// Puts the lines of a domain in order. What stands on a line that is not known is not claimed
    /// either.
    fn settle(self) {
        let Reading { claims, unknown, ignored, .. } = self.reading;
        let mut refused = unknown.split_off(self.unknown);
        refused.sort_by_key(|unknown| unknown.line);
        refused.dedup_by_key(|unknown| unknown.line);
        let is_refused =
            |line: u32| refused.binary_search_by_key(&line, |unknown| unknown.line).is_ok();
        let mut kept = claims.split_off(self.claims);
        kept.retain(|claim| !is_refused(claim.line));
        kept.sort_by_key(|claim| claim.line);
        claims.append(&mut kept);
        let first = ignored.partition_point(|line| *line <= self.before);
        let mut kept = ignored.split_off(first);
        kept.retain(|line| !is_refused(*line));
        kept.sort_unstable();
        kept.dedup();
        ignored.append(&mut kept);
        unknown.append(&mut refused);
    }
}

/// The element that names the job, in a namespace of its own as libvirt asks for.
fn is_job(node: Node<'_, '_>) -> bool {
    let space = node.tag_name().namespace().and_then(|space| space.strip_prefix("https://"));
    let is_ours = space.and_then(|space| space.strip_suffix("/v1")) == Some(API_GROUP);
    is_ours
        && node.tag_name().name() == "job"
        && node.parent().is_some_and(|parent| parent.has_tag_name("metadata"))
}

fn value<T: FromStr>(element: Node<'_, '_>) -> Option<T> {
    element.text()?.trim_ascii().parse().ok()
}

fn address(at: Node<'_, '_>) -> Option<PciAddress> {
    let part = |name| at.attribute(name).and_then(hex);
    let is_pci = at.attribute("type").is_none_or(|kind| kind == "pci");
    let [slot, function] = [part("slot")?, part("function")?];
    (is_pci && at.has_tag_name("address") && slot < 32 && function < 8).then_some(())?;
    Some(PciAddress {
        domain: part("domain")?.try_into().ok()?,
        bus: part("bus")?.try_into().ok()?,
        devfn: (slot << 3 | function) as u8,
    })
}

fn hex(text: &str) -> Option<u64> {
    let digits = text.trim_ascii().strip_prefix("0x")?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// `0-1,3`: more than this many are in no host.
fn nodes(set: &str) -> Option<Vec<u16>> {
    const MOST: u16 = 1024;
    let mut nodes = Vec::new();
    for piece in set.split(',') {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= MOST || nodes.len() > usize::from(MOST) {
            return None;
        }
        nodes.extend(first..=last);
    }
    nodes.sort_unstable();
    nodes.dedup();
    Some(nodes)
}
