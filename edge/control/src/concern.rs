//! Whom a line concerns.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use model::numbering::{bridge_name, tunnel_name};
use model::{DeviceId, JobName, TenantName};
use plan::{JobNet, Plan};

/// The tenants and jobs that a line speaks of.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct Concern {
    /// Whose tenants' it is.
    pub tenants: BTreeSet<TenantName>,
    /// Which of their jobs' it is.
    pub jobs: BTreeSet<JobName>,
}

/// Finds the names and numbers of the plan in a line of a device: VRFs, VNIs, tags, bridges,
/// tunnels, targets and ports.
pub(crate) fn of_line(plan: &Plan, device: DeviceId, line: &str) -> Concern {
    let words = words(line);
    let mut concern = Concern::default();
    for (name, tenant) in &plan.tenants {
        let vni = tenant.l3vni.get();
        let said = [tenant.vrf.to_string(), vni.to_string(), tunnel_name(vni), bridge_name(vni)];
        if said.iter().any(|word| words.contains(word.as_str())) {
            concern.tenants.insert(name.clone());
        }
    }
    let tenants = concern.tenants.clone();
    for (name, job) in &plan.jobs {
        let is_named = names_job(job, device, &words);
        let is_addressed = tenants.contains(&name.tenant) && addresses_job(job, &words);
        if is_named || is_addressed {
            concern.tenants.insert(name.tenant.clone());
            concern.jobs.insert(name.clone());
        }
    }
    if concern.tenants.is_empty() {
        // A cable or a neighbour carries everybody who is there.
        let here = plan.devices.get(&device).into_iter();
        concern.tenants =
            here.flat_map(|seated| seated.jobs.keys()).map(|job| job.tenant.clone()).collect();
    }
    concern
}

/// The words of a line, without the numbers of services: these are no tags.
fn words(line: &str) -> BTreeSet<&str> {
    let all = line.split(|letter: char| letter.is_whitespace() || letter == ':' || letter == '/');
    let mut words = BTreeSet::new();
    let mut before = "";
    for word in all.filter(|word| !word.is_empty()) {
        if !matches!(before, "tcp" | "udp") {
            words.insert(word);
        }
        before = word;
    }
    words
}

fn names_job(job: &JobNet, device: DeviceId, words: &BTreeSet<&str>) -> bool {
    let (tag, vni) = (job.tag.get(), job.l2vni.get());
    let bridge = bridge_name(tag.into());
    let said = [vni.to_string(), tunnel_name(vni), bridge, format!("J{tag}")];
    let is_said = said.iter().any(|word| words.contains(word.as_str()));
    // A tag alone is a number like many others: it counts where lines speak of tags.
    let speaks_of_tags = ["tag", "job", "permit", "rd"].iter().any(|word| words.contains(word));
    let is_tagged = speaks_of_tags && words.contains(tag.to_string().as_str());
    let here = job.groups.iter().filter(|group| group.device == device);
    let mut ports = here.flat_map(|group| &group.seats).map(|seat| seat.port.to_string());
    is_said || is_tagged || ports.any(|port| words.contains(port.as_str()))
}

/// Tenants may have the same addresses, so an address counts only beside its tenant's VRF.
fn addresses_job(job: &JobNet, words: &BTreeSet<&str>) -> bool {
    let mut addresses = words.iter().flat_map(|word| word.split('-'));
    addresses
        .any(|word| word.parse::<Ipv4Addr>().is_ok_and(|address| job.subnet.contains(&address)))
}
