#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "a list of elements is not a list of lines")]
mod page;

use expect_test::{Expect, expect};
use model::Dialect;
use page::{any_text, cut, no_line_is_known_and_unknown, parts, told};
use proptest::prelude::*;

/// As `virsh dumpxml` prints a machine that runs.
const RUNNING: &str = "\
<domain type='kvm' id='4'>
  <name>acme.research.train</name>
  <uuid>8c9b0bd6-1f1c-4a56-9c9b-7b0c3a1d2f10</uuid>
  <metadata>
    <tenancy:job xmlns:tenancy='https://bulkhead.dev/v1'>acme/research/train</tenancy:job>
  </metadata>
  <memory unit='KiB'>134217728</memory>
  <currentMemory unit='KiB'>134217728</currentMemory>
  <vcpu placement='static'>16</vcpu>
  <numatune>
    <memory mode='strict' nodeset='0-1'/>
  </numatune>
  <resource>
    <partition>/machine</partition>
  </resource>
  <os firmware='efi'>
    <type arch='x86_64' machine='pc-q35-9.0'>hvm</type>
  </os>
  <features>
    <acpi/>
  </features>
  <cpu mode='host-passthrough' check='none' migratable='on'/>
  <clock offset='utc'/>
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>restart</on_reboot>
  <on_crash>destroy</on_crash>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <controller type='pci' index='0' model='pcie-root'>
      <alias name='pcie.0'/>
    </controller>
    <input type='mouse' bus='ps2'/>
    <audio id='1' type='none'/>
    <hostdev mode='subsystem' type='pci' managed='no'>
      <driver name='vfio'/>
      <source>
        <address domain='0x0000' bus='0x86' slot='0x00' function='0x0'/>
      </source>
      <alias name='hostdev0'/>
      <address type='pci' domain='0x0000' bus='0x01' slot='0x00' function='0x0'/>
    </hostdev>
    <interface type='hostdev' managed='no'>
      <mac address='52:54:00:00:00:01'/>
      <source>
        <address type='pci' domain='0x0001' bus='0x84' slot='0x1f' function='0x7'/>
      </source>
    </interface>
    <memballoon model='none'/>
  </devices>
  <seclabel type='dynamic' model='dac' relabel='yes'/>
  <launchSecurity type='tdx'>
    <policy>0x10000000</policy>
  </launchSecurity>
</domain>
";

const SMALL: &str = "\
<domain type='kvm'>
  <metadata>
    <t:job xmlns:t='https://bulkhead.dev/v1'>blue/serve</t:job>
  </metadata>
  <devices>
    <hostdev mode='subsystem' type='pci' managed='no'>
      <source>
        <address domain='0x0000' bus='0x0f' slot='0x00' function='0x0'/>
      </source>
    </hostdev>
  </devices>
</domain>
";

#[test]
fn a_machine_that_runs_says_its_job_its_functions_and_its_memory() {
    check(
        RUNNING,
        expect![[r#"
        5: Holds(Guest { job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, confidential: Some(Tdx) })
        11: Holds(GuestNear { job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, numa: 0 })
        11: Holds(GuestNear { job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, numa: 1 })
        37: Holds(GuestHas { job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, pci: PciAddress { domain: 0, bus: 134, devfn: 0 } })
        45: Holds(GuestHas { job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, pci: PciAddress { domain: 1, bus: 132, devfn: 255 } })
        ignored: [2, 3, 7, 8, 9, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 28, 29, 30, 31, 32, 33, 48, 50]
    "#]],
    );
}

#[test]
fn the_address_inside_the_machine_is_not_the_hosts() {
    let swapped = SMALL.replace("<source>", "<origin>").replace("</source>", "</origin>");
    check(
        &swapped,
        expect![[r#"
        3: Holds(Guest { job: JobName { tenant: TenantName("blue"), name: Name("serve") }, confidential: None })
        6? <hostdev mode='subsystem' type='pci' managed='no'>
           a PCI address has a domain, a bus, a slot and a function in hex
        7? <origin>
           nobody knows what of the host or of others this gives to the machine
    "#]],
    );
}

#[test]
fn what_leads_to_the_host_or_to_others_is_refused() {
    for device in [
        "<filesystem type='mount'><source dir='/'/><target dir='host'/></filesystem>",
        "<shmem name='between'><model type='ivshmem-plain'/></shmem>",
        "<disk type='block' device='disk'><source dev='/dev/sda'/></disk>",
        "<hostdev mode='subsystem' type='mdev' model='vfio-pci'/>",
        "<interface type='bridge'><source bridge='br0'/></interface>",
        "<vsock model='virtio'><cid auto='yes'/></vsock>",
    ] {
        let text = SMALL.replace("<devices>", &format!("<devices>\n    {device}"));
        let told = told(Dialect::Vm, &text);
        let why = "nobody knows what of the host or of others this gives to the machine";
        assert!(told.contains(&format!("6? {device}\n   {why}")), "{told}");
    }
}

#[test]
fn a_machine_that_may_be_debugged_is_not_kept_from_the_host() {
    let open = RUNNING.replace("0x10000000", "0x10000001");
    let told = told(Dialect::Vm, &open);
    assert!(told.contains("confidential: None"), "{told}");
    assert!(told.contains("with this policy the host may read the machine"), "{told}");
}

#[test]
fn a_machine_of_nobody_is_refused() {
    check(
        "<domain type='kvm'>\n  <name>stray</name>\n</domain>\n",
        expect![[r#"
        1? <domain type='kvm'>
           a machine must say in its metadata whose job it is
    "#]],
    );
}

#[test]
fn memory_that_is_only_preferred_may_be_elsewhere() {
    let told = told(Dialect::Vm, &RUNNING.replace("'strict'", "'preferred'"));
    assert!(!told.contains("GuestNear"), "{told}");
    assert!(told.contains("memory may be elsewhere unless it is strict"), "{told}");
}

#[test]
fn a_second_name_and_a_second_list_of_devices_are_refused() {
    let second = SMALL.replace(
        "  </metadata>",
        "    <t:job xmlns:t='https://bulkhead.dev/v1'>a/b</t:job>\n  </metadata>",
    );
    assert!(told(Dialect::Vm, &second).contains("metadata names one job and nothing else"));
    let second = SMALL.replace("</domain>", "  <devices/>\n</domain>");
    assert!(told(Dialect::Vm, &second).contains("a machine has one of these"));
}

#[test]
fn entities_are_refused() {
    check(
        "<!DOCTYPE d [<!ENTITY a 'aaaa'>]>\n<domain>&a;</domain>\n",
        expect![[r#"
        1? <!DOCTYPE d [<!ENTITY a 'aaaa'>]>
           this is no XML, or an entity that nobody may use
    "#]],
    );
}

#[test]
fn what_is_on_the_list_is_passed_over_where_it_stands() {
    for ignored in read::description(Dialect::Vm).ignored {
        let name = ignored.line;
        let text = match ignored.place {
            "devices" => SMALL.replace("<devices>", &format!("<devices>\n<{name}/>")),
            _ => SMALL.replace("<devices>", &format!("<{name}/>\n<devices>")),
        };
        let reading = read::claims(Dialect::Vm, &text);
        assert_eq!((reading.unknown, reading.ignored.len()), (vec![], 1), "{name}");
    }
}

#[test]
fn a_function_in_another_machine_is_a_difference_and_a_name_is_none() {
    let other = SMALL.replace("<metadata>", "<uuid>1</uuid>\n  <metadata>");
    assert_eq!(read::differences(Dialect::Vm, SMALL, &other), []);
    let moved = SMALL.replace("blue/serve", "red/serve");
    let differences = read::differences(Dialect::Vm, SMALL, &moved);
    let lines: Vec<_> = differences.iter().map(|at| (at.is_missing, at.line)).collect();
    assert_eq!(lines, [(false, 3), (false, 8), (true, 3), (true, 8)]);
}

const PARTS: &[&str] = &[RUNNING, SMALL];

proptest! {
    #[test]
    fn parts_say_together_what_they_say_alone(parts in parts(PARTS)) {
        page::parts_say_together_what_they_say_alone(Dialect::Vm, &parts);
    }

    #[test]
    fn any_text_is_read(text in any_text()) {
        no_line_is_known_and_unknown(Dialect::Vm, &text);
    }

    #[test]
    fn cut_text_is_read(text in cut(PARTS)) {
        no_line_is_known_and_unknown(Dialect::Vm, &text);
    }
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&told(Dialect::Vm, text));
}
