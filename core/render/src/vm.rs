//! Virtual machines as libvirt describes them: one domain for each job on each of its nodes.

use std::collections::BTreeSet;

use model::{API_GROUP, Confidential, JobName, NodeId, PciAddress, Runtime, Share};
use plan::Plan;

use crate::cluster::Path;
use crate::node::{self, bits};
use crate::say::{say, say_hex};

/// Nobody says yet how large a machine shall be, and libvirt needs a number.
const MEMORY_GIB_PER_GPU: u32 = 64;
const CPUS_PER_GPU: u32 = 8;

pub(crate) fn job(plan: &Plan, at: NodeId, name: &JobName, share: Share, out: &mut String) {
    let Some(tenant) = plan.tenants.get(&name.tenant) else {
        return;
    };
    if tenant.trust.runtime != Runtime::Vm {
        return;
    }
    let model = node::model(plan, at);
    let gpus = share.gpus.count_ones().max(1);
    say!(
        out,
        "<domain type='kvm'>\n  <name>",
        Path(&name.tenant, "."),
        ".",
        name.name,
        "</name>\n"
    );
    say!(out, "  <metadata>\n    <tenancy:job xmlns:tenancy='https://", API_GROUP, "/v1'>");
    say!(out, name, "</tenancy:job>\n  </metadata>\n");
    say!(out, "  <memory unit='GiB'>", gpus * MEMORY_GIB_PER_GPU, "</memory>\n");
    say!(out, "  <vcpu>", gpus * CPUS_PER_GPU, "</vcpu>\n");
    let gpu_numa = bits(share.gpus).filter_map(|gpu| model.gpu_numa.get(usize::from(gpu)));
    near(&gpu_numa.copied().collect(), out);
    say!(out, "  <os firmware='efi'>\n    <type arch='x86_64' machine='q35'>hvm</type>\n  </os>\n");
    // Without it libvirt takes no machine with this firmware.
    say!(out, "  <features>\n    <acpi/>\n  </features>\n");
    say!(out, "  <devices>\n");
    let gpus = bits(share.gpus).filter_map(|gpu| model.pci.gpus.get(usize::from(gpu)));
    let nics = bits(share.nics).filter_map(|nic| model.pci.nics.get(usize::from(nic)));
    gpus.chain(nics).for_each(|address| function(*address, out));
    say!(out, "  </devices>\n");
    if let Some(confidential) = tenant.trust.confidential {
        secure(confidential, out);
    }
    say!(out, "</domain>\n");
}

/// Memory is where the GPUs are, and nowhere else.
fn near(numa: &BTreeSet<u16>, out: &mut String) {
    if numa.is_empty() {
        return;
    }
    say!(out, "  <numatune>\n    <memory mode='strict' nodeset='");
    for (place, node) in numa.iter().enumerate() {
        say!(out, if place > 0 { "," } else { "" }, node);
    }
    say!(out, "'/>\n  </numatune>\n");
}

/// Not managed: who drives the function is for the node's own layer to say, and libvirt must not
/// hand it to another driver when the machine stops.
fn function(at: PciAddress, out: &mut String) {
    let [high, low] = at.domain.to_be_bytes();
    say!(out, "    <hostdev mode='subsystem' type='pci' managed='no'>\n      <source>\n");
    say!(out, "        <address domain='0x");
    say_hex(high, out);
    say_hex(low, out);
    say!(out, "' bus='0x");
    say_hex(at.bus, out);
    say!(out, "' slot='0x");
    say_hex(at.devfn >> 3, out);
    say!(out, "' function='0x", at.devfn & 7, "'/>\n      </source>\n    </hostdev>\n");
}

/// The policies forbid the host to debug the guest, which would let it read all memory.
fn secure(confidential: Confidential, out: &mut String) {
    let (kind, policy) = match confidential {
        // Bit 17 is always one, and bit 16 lets the guest run with threads of one core.
        Confidential::SevSnp => ("sev-snp", "0x00030000"),
        // Bit 28 keeps page faults of private memory from the guest, as Linux asks for.
        Confidential::Tdx => ("tdx", "0x10000000"),
    };
    say!(out, "  <launchSecurity type='", kind, "'>\n    <policy>", policy, "</policy>\n");
    say!(out, "  </launchSecurity>\n");
}
