//! Who judges the packets: the filter, nobody, or nftables.

use std::fmt::{self, Write as _};
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use ::lab::{Lab, Workload};
use apply::OnDrift;
use model::numbering::tunnel_name;
use plan::{JobNet, TenantNet};

use crate::command::lab::bench::controller::Controller;
use crate::ending::Stop;

/// Where the filter's links stand inside of a device.
const PLACE: &str = "/sys/fs/bpf/bulkhead";
const TABLE: &str = "bench";

/// Who judges.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Judge {
    Filter,
    Nobody,
    Nftables,
}

impl Judge {
    /// All of them, the one that others are compared with first.
    pub(super) const ALL: [Self; 3] = [Self::Filter, Self::Nobody, Self::Nftables];
}

impl fmt::Display for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Filter => "filter",
            Self::Nobody => "no filter",
            Self::Nftables => "nftables",
        })
    }
}

/// Appoints one after the other on the leaves of two workloads.
pub(super) struct Judges<'a> {
    lab: &'a Lab,
    ends: [&'a Workload; 2],
    controller: Controller,
    now: Judge,
}

/// A leaf does not take another judge.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotAppointed {
    /// The filter's links stay.
    #[error("cannot take the filter off")]
    Links(#[source] io::Error),
    /// The command is missing.
    #[error("cannot run `nft`; install nftables")]
    Missing(#[source] io::Error),
    /// It does not take it.
    #[error("`nft` refuses the rules: {0}")]
    Refused(String),
    /// The plan does not know a workload.
    #[error("the plan has no numbers for {0}")]
    Unplanned(String),
}

impl<'a> Judges<'a> {
    pub(super) fn over(lab: &'a Lab, ends: [&'a Workload; 2]) -> Result<Self, Stop> {
        Ok(Self { lab, ends, controller: Controller::of(lab)?, now: Judge::Filter })
    }

    /// The filter goes and comes back by the agents' hands; meanwhile they look on.
    pub(super) fn appoint(&mut self, judge: Judge) -> Result<(), Stop> {
        if self.now == Judge::Filter && judge != Judge::Filter {
            self.apply(OnDrift::Alarm)?;
            self.on_both(|_| take_off().map_err(NotAppointed::Links))?;
        }
        if self.now == Judge::Nftables {
            self.on_both(|end| nft(end.vrf, &format!("delete table netdev {TABLE}\n")))?;
        }
        match judge {
            Judge::Filter => self.apply(OnDrift::Repair)?,
            Judge::Nobody => {}
            Judge::Nftables => self.on_both(|end| nft(end.vrf, &end.rules()))?,
        }
        self.now = judge;
        Ok(())
    }

    fn apply(&mut self, on_drift: OnDrift) -> Result<(), Stop> {
        self.controller.apply("", on_drift).map(drop)
    }

    /// Does this inside of both leaves.
    fn on_both(
        &self,
        work: impl Fn(&End<'_>) -> Result<(), NotAppointed> + Sync,
    ) -> Result<(), Stop> {
        for workload in self.ends {
            let end = End::of(self.lab, workload)?;
            self.lab.run_in(&workload.device, || work(&end))??;
        }
        Ok(())
    }
}

/// Takes the filter off every port and cable of the device where the thread is.
fn take_off() -> io::Result<()> {
    for entry in fs::read_dir(PLACE)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_link = ["fabric-", "workload-", "local-"].iter().any(|hook| name.starts_with(hook));
        if is_link {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// A leaf, as far as one tenant is concerned.
struct End<'a> {
    vrf: &'a str,
    device: &'a str,
    tenant: &'a TenantNet,
    /// The tenant's endpoints on all leaves, each with its job's numbers.
    all: Vec<(&'a Workload, &'a JobNet)>,
}

impl<'a> End<'a> {
    fn of(lab: &'a Lab, workload: &'a Workload) -> Result<Self, NotAppointed> {
        let plan = lab.plan();
        let unplanned = || NotAppointed::Unplanned(workload.name.clone());
        let tenant = plan.tenants.get(&workload.job.tenant).ok_or_else(unplanned)?;
        let all = lab.workloads().iter().filter(|one| one.job.tenant == workload.job.tenant);
        let all = all.filter_map(|one| Some((one, plan.jobs.get(&one.job)?))).collect();
        Ok(Self { vrf: tenant.vrf.0.as_str(), device: &workload.device, tenant, all })
    }

    /// The same policy as nftables says it: at a port, who sends gets its job's tag and must have
    /// the receiver as a peer; out of a tunnel, the sender must have that tag; into a port, the
    /// receiver must. What a tunnel's outer source was is not known there.
    fn rules(&self) -> String {
        let own = || self.all.iter().filter(|(one, _)| one.device == self.device);
        let (mut tags, mut peers, mut tunnels) = (Vec::new(), Vec::new(), Vec::new());
        for (one, job) in own() {
            tags.push(format!("\"{}\" . {} : {:#x}", one.port, one.address, job.tag.get()));
            tunnels.push(format!("{:?}", tunnel_name(job.l2vni.get())));
        }
        for (one, job) in &self.all {
            peers.push(format!("{:#x} . {}", job.tag.get(), one.address));
        }
        tunnels.push(format!("{:?}", tunnel_name(self.tenant.l3vni.get())));
        tunnels.sort();
        tunnels.dedup();
        let ports: Vec<String> = own().map(|(one, _)| format!("\"{}\"", one.port)).collect();
        let [tags, peers, tunnels, ports] =
            [tags, peers, tunnels, ports].map(|words| words.join(", "));
        let mut text = format!(
            "table netdev {TABLE} {{
                map tags {{ typeof iifname . ip saddr : meta mark; elements = {{ {tags} }} }}
                set peers {{ typeof meta mark . ip daddr; elements = {{ {peers} }} }}
                set senders {{ typeof meta mark . ip saddr; elements = {{ {peers} }} }}
            "
        );
        let mut chain = |name: &str, hook: &str, devices: &str, rules: &str| {
            let _ = writeln!(
                text,
                "chain {name} {{
                    type filter hook {hook} devices = {{ {devices} }} priority 0; policy drop;
                    ether type arp accept
                    {rules}
                }}"
            );
        };
        let marked =
            "meta mark set iifname . ip saddr map @tags meta mark . ip daddr @peers accept";
        chain("workload", "ingress", &ports, marked);
        chain("fabric", "ingress", &tunnels, "meta mark . ip saddr @senders accept");
        chain("local", "egress", &ports, "meta mark . ip daddr @peers accept");
        text.push_str("}\n");
        text
    }
}

/// Has nftables take this in a VRF of the device where the thread is.
fn nft(vrf: &str, rules: &str) -> Result<(), NotAppointed> {
    let namespace = Path::new("/run/netns").join(vrf);
    let mut child = Command::new("nsenter")
        .arg(format!("--net={}", namespace.display()))
        .args(["nft", "-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(NotAppointed::Missing)?;
    if let Some(mut stdin) = child.stdin.take() {
        // What it did not take, it complains about.
        let _ = stdin.write_all(rules.as_bytes());
    }
    let output = child.wait_with_output().map_err(NotAppointed::Missing)?;
    if output.status.success() {
        return Ok(());
    }
    Err(NotAppointed::Refused(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}
