//! What a fleet says about layers besides the network: what it becomes, and every way to be
//! refused, with the exact words.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use intent::{Source, load};
use model::Fleet;

/// Loads a fleet of an HGX node and two trays that NVLink joins, with these addresses in the
/// model of the HGX node and this beside the models, and says what it became, or why not.
fn check(addresses: &str, beside: &str, expected: Expect) {
    let text = format!(
        "
apiVersion: bulkhead.dev/v1
kind: Fleet
metadata: {{name: small}}
spec:
  models:
    nodes:
      hgx: {{gpu: {{product: H100-80GB, board: HGX-H100/H200-8GPU}}, gpus: 2, nics: {{count: 2, rate: 400Gbps}}{addresses}}}
      tray: {{gpu: {{product: GB200-186GB, board: GB200-NVL72}}, gpus: 1, nics: {{count: 1, rate: 400Gbps}}, gpuPci: ['0008:01:00.0'], nicPci: ['0008:02:00.0']}}
    racks:
      hgx: {{nodes: {{model: hgx, count: 1}}}}
      nvl: {{nodes: {{model: tray, count: 2}}, nvlinkDomain: rack}}
    pods:
      hgx: {{racks: {{model: hgx, count: 1}}}}
      nvl: {{racks: {{model: nvl, count: 1}}}}
  sites:
    - {{name: ams, jurisdiction: NL, pods: [{{name: hgx, model: hgx}}, {{name: nvl, model: nvl}}]}}
{beside}
"
    );
    let said = match load(&[Source { file: "fleet.yaml", text: &text }]) {
        Ok(intent) => summary(&intent.fleet),
        Err(refusals) => {
            refusals.iter().map(|refusal| format!("{}: {refusal}\n", refusal.code())).collect()
        }
    };
    expected.assert_eq(&said);
}

fn summary(fleet: &Fleet) -> String {
    let mut text = String::new();
    for device in fleet.devices() {
        let dialects: Vec<&str> = fleet.dialects(device).map(model::Dialect::as_str).collect();
        let _ = writeln!(text, "{}: {}", fleet.device_name(device), dialects.join(" "));
    }
    let labels = &fleet.layers.labels;
    let _ = writeln!(text, "leaf label {}, scrub {:?}", labels.leaf, fleet.scrub);
    text
}

const ADDRESSES: &str =
    ", gpuPci: ['0000:1b:00.0', '0000:0f:00.0'], nicPci: ['0000:1c:00.0', '0000:10:00.0']";

#[test]
fn a_fleet_that_names_no_layers_is_a_network() {
    check(
        ADDRESSES,
        "",
        expect![[r#"
        ams-hgx-spine-1: frr
        ams-hgx-spine-2: frr
        ams-hgx-leaf-1: frr linux table
        ams-nvl-spine-1: frr
        ams-nvl-spine-2: frr
        ams-nvl-leaf-1: frr linux table
        leaf label fabric.topograph.run/tier-0, scrub []
    "#]],
    );
}

#[test]
fn each_device_speaks_of_the_layers_it_has() {
    check(
        ADDRESSES,
        "  layers: [kubernetes, slurm, pkey, imex, nvlink, amd, mig, vm, devices, versions, vfio]
  topologyLabels: {leaf: example.com/leaf}
  scrub: [nic, hbm, hbm]",
        expect![[r#"
            ams-hgx-spine-1: frr
            ams-hgx-spine-2: frr
            ams-hgx-leaf-1: frr linux table
            ams-nvl-spine-1: frr
            ams-nvl-spine-2: frr
            ams-nvl-leaf-1: frr linux table
            ams-hgx-r01-n01: vfio versions mig nvlink devices vm scrub
            ams-nvl-r01-n01: vfio versions mig imex devices vm scrub
            ams-nvl-r01-n02: vfio versions mig imex devices vm scrub
            nvlink-ams-nvl-r01: nvlink
            subnet-ams-hgx: pkey
            subnet-ams-nvl: pkey
            slurm: slurm
            kubernetes: kubernetes
            leaf label example.com/leaf, scrub [Hbm, Nic]
        "#]],
    );
}

#[test]
fn layers_without_nodes_of_their_own_leave_nodes_alone() {
    check(
        ADDRESSES,
        "  layers: [slurm]",
        expect![[r#"
        ams-hgx-spine-1: frr
        ams-hgx-spine-2: frr
        ams-hgx-leaf-1: frr linux table
        ams-nvl-spine-1: frr
        ams-nvl-spine-2: frr
        ams-nvl-leaf-1: frr linux table
        slurm: slurm
        leaf label fabric.topograph.run/tier-0, scrub []
    "#]],
    );
}

#[test]
fn layers_that_name_devices_need_their_addresses() {
    check(
        "",
        "  layers: [vfio]",
        expect![[r#"
        no-pci-addresses: fleet.yaml:18:11: layer `vfio` names devices by PCI address, and model `hgx` has none. Give model `hgx` `gpuPci` and `nicPci`, as `lspci -D` shows them.
    "#]],
    );
}

#[test]
fn every_wrong_word_is_named() {
    check(
        ", gpuPci: ['0000:1b:00.0', '0000:1b:00.0', '0000:1B:00.0'], nicPci: [1b:00.0]",
        "  layers: [vfoi]
  topologyLabels: {leafs: example.com/leaf}
  scrub: [hbm, disk]",
        expect![[r#"
            one-address-each: fleet.yaml:8:117: `gpuPci` has 3 addresses for 2 devices. Write 2 addresses in the order of module ids, or leave it out.
            pci-twice: fleet.yaml:8:134: two devices sit at 0000:1b:00.0. Give each device its own.
            bad-value: fleet.yaml:8:150: `0000:1B:00.0` cannot be read as `gpuPci`. Expected: a PCI address is written 0000:1b:00.0, in lower-case digits.
            one-address-each: fleet.yaml:8:175: `nicPci` has 1 addresses for 2 devices. Write 2 addresses in the order of module ids, or leave it out.
            bad-value: fleet.yaml:8:176: `1b:00.0` cannot be read as `nicPci`. Expected: a PCI address is written 0000:1b:00.0, in lower-case digits.
            wrong-word: fleet.yaml:18:12: `vfoi` is no `layers`. Write one of `vfio`, `versions`, `mig`, `amd`, `nvlink`, `imex`, `pkey`, `devices`, `vm`, `slurm`, `kubernetes`, `attest`.
            unknown-key: fleet.yaml:19:20: unknown key `leafs` in topology labels. Did you mean `leaf`?
            wrong-word: fleet.yaml:20:16: `disk` is no `scrub`. Write one of `hbm`, `sram`, `ram`, `nvme`, `nic`.
        "#]],
    );
}
