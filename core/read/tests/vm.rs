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
    <type arch='x86_64' machine='pc-q35-9.2'>hvm</type>
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
    <hostdev mode='subsystem' type='pci' managed='no'>
      <source>
        <address type='pci' domain='0x0001' bus='0x84' slot='0x1f' function='0x7'/>
      </source>
      <rom bar='off'/>
    </hostdev>
    <memballoon model='none'/>
  </devices>
  <seclabel type='dynamic' model='dac' relabel='yes'>
    <label>+64055:+108</label>
    <imagelabel>+64055:+108</imagelabel>
  </seclabel>
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
            44: Holds(GuestHas { job: JobName { tenant: TenantName("acme/research"), name: Name("train") }, pci: PciAddress { domain: 1, bus: 132, devfn: 255 } })
            ignored: [2, 3, 7, 8, 9, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 28, 29, 30, 31, 32, 33, 35, 39, 40, 46, 48, 50, 51, 52, 53]
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
        "<disk type='file' device='disk'><source file='/var/lib/libvirt/images/other.img'/></disk>",
        "<hostdev mode='subsystem' type='mdev' model='vfio-pci'/>",
        "<hostdev mode='subsystem' type='usb'><source><vendor id='0x1234'/></source></hostdev>",
        "<interface type='bridge'><source bridge='br0'/></interface>",
        "<interface type='hostdev' managed='no'><mac address='52:54:00:00:00:01'/></interface>",
        "<vsock model='virtio'><cid auto='yes'/></vsock>",
        "<rng model='virtio'><backend model='random'>/dev/sda</backend></rng>",
        "<rng model='virtio'><backend model='egd' type='tcp'/></rng>",
        "<emulator>/home/eve/qemu</emulator>",
        "<emulator> /usr/bin/kvm</emulator>",
        "<input type='evdev'><source dev='/dev/input/event1'/></input>",
        "<input type='passthrough' bus='virtio'><source evdev='/dev/input/event1'/></input>",
        "<serial type='tcp'><source mode='bind' host='0.0.0.0' service='4000'/></serial>",
        "<serial type='pty'><log file='/etc/cron.d/x'/></serial>",
        "<console type='dev'><source path='/dev/ttyS0'/></console>",
        "<console type='pty'><source path='/dev/sda'/></console>",
        "<parallel type='file'><source path='/etc/passwd'/></parallel>",
        "<channel type='unix'><source mode='bind' path='/run/other.sock'/></channel>",
        "<graphics type='vnc' port='5900' listen='0.0.0.0'/>",
        "<redirdev bus='usb' type='spicevmc'/>",
        "<smartcard mode='host'/>",
        "<tpm model='tpm-tis'><backend type='passthrough'/></tpm>",
        "<memory model='nvdimm'><source><path>/dev/dax0.0</path></source></memory>",
        "<video><model type='virtio'><acceleration accel3d='yes'/></model></video>",
        "<watchdog model='itco' action='dump'/>",
        "<audio id='1' type='pulseaudio' serverName='/run/pulse'/>",
        "<memballoon model='virtio'><driver iommu='on' x='y'/></memballoon>",
        "<controller type='usb'><driver iothread='1'/></controller>",
    ] {
        is_refused(6, &SMALL.replace("<devices>", &format!("<devices>\n    {device}")), device);
    }
}

#[test]
fn what_a_machine_is_made_of_is_known_value_by_value() {
    for element in [
        "<os><type arch='x86_64' machine='q35'>hvm</type><kernel>/boot/vmlinuz</kernel></os>",
        "<os><type>hvm</type><initrd>/boot/initrd.img</initrd></os>",
        "<os><type>xen</type></os>",
        "<os><loader readonly='no' type='pflash'>/usr/share/OVMF/OVMF_CODE_4M.fd</loader></os>",
        "<os><loader type='pflash'>/usr/share/OVMF/OVMF_CODE_4M.fd</loader></os>",
        "<os><loader readonly='yes' type='pflash'>/home/eve/OVMF_CODE.fd</loader></os>",
        "<os><nvram>/var/lib/libvirt/qemu/nvram/other_VARS.fd</nvram></os>",
        "<os><nvram template='/home/eve/VARS.fd'/></os>",
        "<os><acpi><table type='slic'>/sys/firmware/acpi/tables/SLIC</table></acpi></os>",
        "<os><smbios mode='host'/></os>",
        "<sysinfo type='fwcfg'><entry name='opt/x' file='/etc/shadow'/></sysinfo>",
        "<seclabel type='none'/>",
        "<seclabel type='static' model='selinux'><label>system_u</label></seclabel>",
        "<seclabel type='dynamic' model='dac'><label>+0:+0</label></seclabel>",
        "<seclabel type='dynamic' model='selinux'><baselabel>unconfined</baselabel></seclabel>",
        "<seclabel type='dynamic' model='dac' relabel='no'/>",
        "<on_crash>coredump-restart</on_crash>",
        "<resource><partition>/system</partition></resource>",
        "<vcpu placement='static' cpuset='0-127'>16</vcpu>",
        "<cputune><vcpupin vcpu='0' cpuset='4'/></cputune>",
        "<memoryBacking><access mode='shared'/></memoryBacking>",
        "<memoryBacking><source type='file'/></memoryBacking>",
        "<memory unit='KiB' dumpCore='on'>1</memory>",
        "<cpu><numa><cell id='0' cpus='0' memory='1' memAccess='shared'/></numa></cpu>",
        "<idmap><uid start='0' target='0' count='1'/></idmap>",
        "<memtune><hard_limit unit='KiB'>1</hard_limit></memtune>",
        "<blkiotune><weight>100</weight></blkiotune>",
        "<features><acpi/><vmcoreinfo state='on'/></features>",
        "<features><acpi x='y'/></features>",
        "<features xmlns='https://example.com'><acpi/></features>",
        "<features xmlns:x='https://example.com' x:state='on'><acpi/></features>",
        "<q:commandline xmlns:q='http://libvirt.org/schemas/domain/qemu/1.0'/>",
        "<name><![CDATA[blue]]></name>",
        "<?php what?>",
    ] {
        is_refused(2, &SMALL.replace("<metadata>", &format!("{element}\n  <metadata>")), element);
    }
}

#[test]
fn a_function_is_passed_through_in_one_way() {
    for (from, to) in [
        ("managed='no'", "managed='yes'"),
        (" managed='no'", ""),
        ("<source>", "<rom file='/tmp/rom'/><source>"),
        ("<source>", "<source writeFiltering='no'>"),
        ("<source>", "<driver name='xen'/><source>"),
        ("<source>", "<teaming type='transient' persistent='ua-a'/><source>"),
        ("</source>", "</source><source><address domain='0x0000'/></source>"),
    ] {
        let text = SMALL.replace(from, to);
        assert_ne!(read::claims(Dialect::Vm, &text).unknown, [], "{to}");
    }
}

#[test]
fn an_encoding_that_says_something_else_is_refused() {
    let declared = |encoding| format!("<?xml version='1.0' encoding='{encoding}'?>\n{SMALL}");
    assert_eq!(read::claims(Dialect::Vm, &declared("UTF-8")).unknown, []);
    is_refused(1, &declared("UTF-7"), "<?xml version='1.0' encoding='UTF-7'?>");
}

#[test]
fn a_policy_that_lets_anybody_in_is_told() {
    let snp = "<launchSecurity type='sev-snp'>\n    <policy>";
    let of = |begin: &str, policy: &str| {
        let text = RUNNING.replace("<launchSecurity type='tdx'>\n    <policy>", begin);
        read::claims(Dialect::Vm, &text.replace("0x10000000", policy)).unknown.len()
    };
    let tdx = "<launchSecurity type='tdx'>\n    <policy>";
    // A debugger, a bit of its group, one who moves it elsewhere, pages that the host takes away.
    for policy in ["0x10000001", "0x10000002", "0x30000000", "0x00000000"] {
        assert_eq!(of(tdx, policy), 1, "{policy}");
    }
    // A debugger, one who moves it elsewhere, a device that reads along, and what is always set.
    for policy in ["0x000b0000", "0x00070000", "0x00230000", "0x00010000"] {
        assert_eq!(of(snp, policy), 1, "{policy}");
    }
    assert_eq!([of(tdx, "0x10000000"), of(snp, "0x00030000")], [0, 0]);
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
        let one = ignored.example();
        let (of_it, within) = match (one.strip_prefix('@'), one.strip_prefix('=')) {
            (Some(attribute), _) => (format!(" {}'", attribute.replacen('=', "='", 1)), "".into()),
            (None, Some(text)) => (String::new(), text.to_owned()),
            (None, None) => (String::new(), format!("<{one}/>")),
        };
        let place = ignored.place.replace('*', "rng").replace("devices/hostdev", "hostdev");
        let mut text = SMALL.to_owned();
        if place == "domain" {
            text = match within.is_empty() {
                true if of_it.starts_with(" type") => text,
                true => text.replace("<domain", &format!("<domain{of_it}")),
                false => text.replace("<metadata>", &format!("{within}<metadata>")),
            };
        } else if let Some(below) = place.strip_prefix("hostdev") {
            let outer = below.trim_start_matches('/');
            text = match (outer, within.is_empty()) {
                ("", true) => text,
                ("", false) => text.replace("<source>", &format!("{within}<source>")),
                (name, _) => text.replace("<source>", &format!("<{name}{of_it}/><source>")),
            };
        } else if place == "launchSecurity" || place.starts_with("launchSecurity/") {
            continue; // with its policy, below
        } else if let Some(below) = place.strip_prefix("devices") {
            let nested = nest(below.trim_start_matches('/'), &of_it, &within);
            text = text.replace("<devices>", &format!("<devices>{nested}"));
        } else {
            text =
                text.replace("<metadata>", &format!("{}<metadata>", nest(&place, &of_it, &within)));
        }
        let unknown = read::claims(Dialect::Vm, &text).unknown;
        assert_eq!(unknown, [], "{}: {one}", ignored.place);
    }
}

/// An element below others.
fn nest(place: &str, of_it: &str, within: &str) -> String {
    let (begin, rest) = place.split_once('/').unwrap_or((place, ""));
    let is_firmware = begin == "loader" && !of_it.contains("readonly");
    let readonly = if is_firmware { " readonly='yes'" } else { "" };
    match (begin, rest) {
        ("", _) => within.to_owned(),
        (_, "") => format!("<{begin}{of_it}{readonly}>{within}</{begin}>")
            .replace("<loader/>", "<loader readonly='yes'/>"),
        _ => format!("<{begin}>{}</{begin}>", nest(rest, of_it, within)),
    }
}

fn is_refused(line: u32, text: &str, what: &str) {
    let unknown = read::claims(Dialect::Vm, text).unknown;
    let at: Vec<u32> = unknown.iter().map(|unknown| unknown.line).collect();
    assert_eq!(at, [line], "{what}: {unknown:?}");
}

#[test]
fn a_function_in_another_machine_is_a_difference_and_a_name_is_none() {
    let other = SMALL.replace("<metadata>", "<uuid>1-2</uuid>\n  <metadata>");
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
