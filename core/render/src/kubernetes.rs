//! Kubernetes objects as YAML, a document each, in the words of the API.

mod guards;
mod head;
mod job;
mod node;
mod tenant;

pub use tenant::vcluster_values;

use model::admission::{SHARED_NODE, TAINT_EFFECT, TENANT_TAINT};
use model::{Confidential, NodeModel, Part, Runtime, TenantName};
use plan::{Plan, TenantNet};

use crate::cluster::has_hosts_of_its_own;
use crate::say::{Say, say, say_hex};

pub(crate) fn cluster(plan: &Plan, part: &Part, out: &mut String) {
    match part {
        Part::Head => head::write(&plan.fleet, out),
        Part::Node(id) => node::write(plan, *id, out),
        Part::Tenant(name) => {
            if let Some(net) = plan.tenants.get(name) {
                tenant::write(name, net, out);
            }
        }
        Part::Holdings(name) => {
            if let Some(net) = plan.tenants.get(name) {
                tenant::write_quota(plan, name, net, out);
            }
        }
        Part::Job(name) => {
            if let (Some(job), Some(net)) = (plan.jobs.get(name), plan.tenants.get(&name.tenant)) {
                job::write(plan, name, job, net, out);
            }
        }
        Part::Whole => {}
    }
}

/// The namespace of a tenant: `acme-research-t17`. Its number keeps it apart from every other also
/// where the path was too long, or where two paths differ only in what stands between their names.
struct Namespace<'a>(&'a TenantName, &'a TenantNet);

impl Say for Namespace<'_> {
    fn say(&self, out: &mut String) {
        /// A label has 63 letters at most (RFC 1123), and `-t65535` needs seven of them.
        const LONGEST_PATH: usize = 63 - 7;
        let path = self.0.as_str();
        let path = &path[..path.len().min(LONGEST_PATH)];
        let path = path.trim_end_matches(['-', '/']);
        out.extend(path.chars().map(|letter| if letter == '/' { '-' } else { letter }));
        say!(out, "-t", self.1.number);
    }
}

/// The tolerations of what runs on a tenant's nodes: its own taint, and that of nodes which several
/// share where its grade lets it share them.
struct Bears<'a> {
    indent: &'static str,
    name: &'a TenantName,
    net: &'a TenantNet,
}

impl Say for Bears<'_> {
    fn say(&self, out: &mut String) {
        let is_alone = has_hosts_of_its_own(self.net.trust.grade);
        say!(out, self.indent, "tolerations:\n");
        self.one(&Namespace(self.name, self.net), out);
        if !is_alone {
            self.one(SHARED_NODE, out);
        }
    }
}

impl Bears<'_> {
    fn one(&self, value: &(impl Say + ?Sized), out: &mut String) {
        say!(out, self.indent, "- effect: ", TAINT_EFFECT, "\n", self.indent);
        say!(out, "  key: ", TENANT_TAINT, "\n", self.indent, "  operator: Equal\n");
        say!(out, self.indent, "  value: ", value, "\n");
    }
}

/// A text that YAML takes for a text. What could be a number or a word of its own is quoted.
struct Text<'a>(&'a str);

impl Say for Text<'_> {
    fn say(&self, out: &mut String) {
        const WORDS: [&str; 10] =
            ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan"];
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-/._".contains(letter);
        let begins = self.0.starts_with(|letter: char| letter.is_ascii_alphabetic());
        let is_word = WORDS.iter().any(|word| word.eq_ignore_ascii_case(self.0));
        if begins && !is_word && self.0.chars().all(is_plain) {
            return out.push_str(self.0);
        }
        out.push('"');
        for letter in self.0.chars() {
            match letter {
                '"' | '\\' => out.extend(['\\', letter]),
                control if control.is_ascii_control() => {
                    out.push_str("\\x");
                    say_hex(control as u8, out);
                }
                other => out.push(other),
            }
        }
        out.push('"');
    }
}

/// The driver that gives out a node's GPUs, and what it calls them.
#[derive(Clone, Copy)]
enum Driver {
    Nvidia,
    Amd,
}

impl Driver {
    fn of(model: &NodeModel) -> Self {
        if model.gpu.is_amd() { Self::Amd } else { Self::Nvidia }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Nvidia => "gpu.nvidia.com",
            Self::Amd => "gpu.amd.com",
        }
    }

    /// The attribute that holds a GPU's PCI address.
    const fn address(self) -> &'static str {
        match self {
            Self::Nvidia => "pciBusID",
            Self::Amd => "pciAddr",
        }
    }

    /// The class of GPUs for jobs that run so.
    const fn class(self, runtime: Runtime) -> &'static str {
        match (self, runtime) {
            (Self::Nvidia, Runtime::Container) => "gpu.nvidia.com",
            (Self::Nvidia, Runtime::Vm) => "vfio.gpu.nvidia.com",
            (Self::Amd, _) => "gpu.amd.com",
        }
    }
}

/// Every class that there is.
const CLASSES: [&str; 3] = ["gpu.amd.com", "gpu.nvidia.com", "vfio.gpu.nvidia.com"];

/// What a driver calls the GPU with this device file.
struct Device(Driver, Runtime, u16);

impl Say for Device {
    fn say(&self, out: &mut String) {
        match self {
            Self(Driver::Nvidia, Runtime::Container, minor) => say!(out, "gpu-", minor),
            Self(Driver::Nvidia, Runtime::Vm, minor) => say!(out, "gpu-vfio-", minor),
            // The number of the card, and that of its render node, which are counted from 128.
            Self(Driver::Amd, _, minor) => say!(out, "gpu-", minor, "-", 128 + minor),
        }
    }
}

/// What KubeVirt calls a way to keep the host out.
const fn launch_security(confidential: Confidential) -> &'static str {
    match confidential {
        Confidential::SevSnp => "snp",
        Confidential::Tdx => "tdx",
    }
}
