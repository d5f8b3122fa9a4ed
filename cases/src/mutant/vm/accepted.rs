//! What libvirt accepts in a machine, hostile or not, and what it prints by itself.

use crate::mutant::Effect;
use crate::mutant::insert::Accepted;

/// What a machine is printed with before its memory's place.
pub(super) const BEFORE: &str = "  <resource>
    <partition>/machine</partition>
  </resource>
";

/// What it is printed with before its devices.
pub(super) const OWN: &str = "  <cpu mode='custom' match='exact' check='none'>
    <model fallback='forbid'>qemu64</model>
  </cpu>
  <clock offset='utc'/>
  <on_poweroff>destroy</on_poweroff>
  <on_reboot>restart</on_reboot>
  <on_crash>destroy</on_crash>
";

/// Its first devices.
pub(super) const FIRST: &str = "    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <controller type='usb' index='0' model='qemu-xhci'/>
    <controller type='sata' index='0'/>
    <controller type='pci' index='0' model='pcie-root'/>
    <input type='mouse' bus='ps2'/>
    <input type='keyboard' bus='ps2'/>
    <audio id='1' type='none'/>
    <rng model='virtio'>
      <backend model='random'>/dev/urandom</backend>
    </rng>
";

/// Its last devices.
pub(super) const LAST: &str = "    <memballoon model='virtio'/>
";

/// What keeps it from others.
pub(super) const LABEL: &str = "  <seclabel type='dynamic' model='dac' relabel='yes'/>
";

/// What people and programs write into attributes and texts.
pub(super) const VALUES: [&str; 40] = [
    "on",
    "off",
    "yes",
    "no",
    "0",
    "1",
    "2",
    "999",
    "none",
    "static",
    "dynamic",
    "all",
    "other",
    "strict",
    "preferred",
    "interleave",
    "shared",
    "private",
    "/dev/sda",
    "/etc/passwd",
    "/dev/urandom",
    "/dev/random",
    "/usr/bin/qemu-system-x86_64",
    "/bin/sh",
    "/system",
    "restart",
    "preserve",
    "coredump-destroy",
    "host-passthrough",
    "host-model",
    "custom",
    "localtime",
    "virtio",
    "egd",
    "random",
    "0x1",
    "0x0f",
    "unsafe",
    "usb",
    "red/train",
];

/// Each is put where it takes effect.
pub(in crate::mutant) const ACCEPTED: &[Accepted] = &[
    device("<filesystem type='mount'><source dir='/'/><target dir='host'/></filesystem>"),
    device("<shmem name='between'><model type='ivshmem-plain'/><size unit='M'>4</size></shmem>"),
    device(
        "<disk type='block' device='disk'><source dev='/dev/sda'/><target dev='vda' bus='virtio'/></disk>",
    ),
    device(
        "<disk type='file' device='cdrom'><source file='/etc/shadow'/><target dev='sdb' bus='sata'/></disk>",
    ),
    device(
        "<disk type='network' device='disk'><source protocol='nbd' name='x'><host name='10.0.0.1' port='1'/></source><target dev='vdb' bus='virtio'/></disk>",
    ),
    device("<interface type='network'><source network='default'/></interface>"),
    device("<interface type='bridge'><source bridge='br0'/><model type='virtio'/></interface>"),
    device("<interface type='user'/>"),
    device("<interface type='direct'><source dev='eth0' mode='bridge'/></interface>"),
    device(
        "<interface type='hostdev' managed='yes'><source><address type='pci' domain='0x0000' bus='0x01' slot='0x00' function='0x0'/></source></interface>",
    ),
    device(
        "<hostdev mode='subsystem' type='pci' managed='no'><source><address domain='0x0000' bus='0xfe' slot='0x00' function='0x0'/></source></hostdev>",
    ),
    device(
        "<hostdev mode='subsystem' type='usb'><source><vendor id='0x1234'/><product id='0xbeef'/></source></hostdev>",
    ),
    device(
        "<hostdev mode='subsystem' type='scsi'><source><adapter name='scsi_host0'/><address bus='0' target='0' unit='0'/></source></hostdev>",
    ),
    device(
        "<hostdev mode='subsystem' type='mdev' model='vfio-pci'><source><address uuid='c2177883-f1bb-47f0-914d-32a22e3a8804'/></source></hostdev>",
    ),
    device("<vsock model='virtio'><cid auto='no' address='5'/></vsock>"),
    device(
        "<tpm model='tpm-tis'><backend type='passthrough'><device path='/dev/tpm0'/></backend></tpm>",
    ),
    device("<tpm model='tpm-crb'><backend type='emulator' version='2.0'/></tpm>"),
    device("<rng model='virtio'><backend model='random'>/dev/hwrng</backend></rng>"),
    device(
        "<rng model='virtio'><backend model='egd' type='tcp'><source mode='connect' host='10.0.0.1' service='1'/></backend></rng>",
    ),
    device(
        "<rng model='virtio'><rate bytes='1024' period='1000'/><backend model='random'>/dev/urandom</backend></rng>",
    ),
    device("<input type='evdev'><source dev='/dev/input/event1'/></input>"),
    device("<input type='passthrough' bus='virtio'><source evdev='/dev/input/event1'/></input>"),
    device("<input type='tablet' bus='usb'/>"),
    device("<serial type='pty'/>"),
    device("<serial type='tcp'><source mode='bind' host='0.0.0.0' service='4000'/></serial>"),
    device("<serial type='file'><source path='/etc/cron.d/x'/></serial>"),
    device("<serial type='dev'><source path='/dev/ttyS0'/></serial>"),
    device("<serial type='pty'><log file='/var/log/x' append='on'/></serial>"),
    device("<console type='pty'/>"),
    device("<parallel type='file'><source path='/etc/cron.d/y'/></parallel>"),
    device(
        "<channel type='unix'><source mode='bind' path='/tmp/x'/><target type='virtio' name='org.qemu.guest_agent.0'/></channel>",
    ),
    device("<channel type='spicevmc'><target type='virtio'/></channel>"),
    device("<graphics type='vnc' port='5901' listen='0.0.0.0'/>"),
    device("<graphics type='spice' autoport='yes'/>"),
    device(
        "<redirdev bus='usb' type='tcp'><source mode='connect' host='10.0.0.1' service='1'/></redirdev>",
    ),
    device("<smartcard mode='host'/>"),
    device("<sound model='ich9'/>"),
    device("<audio id='2' type='file' path='/etc/cron.d/z'/>"),
    device("<video><model type='virtio'/></video>"),
    device("<video><model type='none'/></video>"),
    device("<watchdog model='i6300esb' action='reset'/>"),
    device("<watchdog model='i6300esb' action='dump'/>"),
    device("<panic model='isa'/>"),
    device("<iommu model='intel'><driver intremap='on' caching_mode='on'/></iommu>"),
    device("<controller type='scsi' index='0' model='virtio-scsi'/>"),
    device("<controller type='virtio-serial' index='0'/>"),
    device(
        "<memory model='nvdimm'><source><path>/dev/sda</path></source><target><size unit='KiB'>1</size></target></memory>",
    ),
    device("<emulator>/bin/sh</emulator>"),
    machine("<seclabel type='none'/>"),
    machine("<seclabel type='static' model='dac' relabel='no'><label>+0:+0</label></seclabel>"),
    machine("<seclabel type='dynamic' model='apparmor' relabel='yes'/>"),
    machine("<cputune><vcpupin vcpu='0' cpuset='0'/></cputune>"),
    machine("<cputune><shares>2</shares></cputune>"),
    machine("<memtune><hard_limit unit='KiB'>1</hard_limit></memtune>"),
    machine("<blkiotune><weight>100</weight></blkiotune>"),
    machine("<memoryBacking><access mode='shared'/></memoryBacking>"),
    machine("<memoryBacking><source type='file'/><access mode='shared'/></memoryBacking>"),
    machine("<memoryBacking><nosharepages/></memoryBacking>"),
    machine("<memoryBacking><locked/></memoryBacking>"),
    machine("<iothreads>4</iothreads>"),
    machine("<description>the machine of a job</description>"),
    machine("<title>a machine</title>"),
    machine("<genid>43dc0cf8-809b-4adb-9bea-a9abb5f3d90e</genid>"),
    machine("<pm><suspend-to-mem enabled='no'/></pm>"),
    machine("<sysinfo type='fwcfg'><entry name='opt/x' file='/etc/shadow'/></sysinfo>"),
    machine("<sysinfo type='smbios'><system><entry name='serial'>1</entry></system></sysinfo>"),
    machine("<perf><event name='cmt' enabled='yes'/></perf>"),
    machine("<keywrap><cipher name='aes' state='on'/></keywrap>"),
    machine(
        "<q:commandline xmlns:q='http://libvirt.org/schemas/domain/qemu/1.0'><q:arg value='-s'/></q:commandline>",
    ),
    machine("<q:override xmlns:q='http://libvirt.org/schemas/domain/qemu/1.0'/>"),
    machine("<x:features xmlns:x='https://example.com/x'><x:acpi/></x:features>"),
    system("<kernel>/boot/vmlinuz</kernel>"),
    system("<initrd>/boot/initrd.img</initrd>"),
    system("<boot dev='network'/>"),
    system("<bootmenu enable='no'/>"),
    system("<acpi><table type='slic'>/etc/passwd</table></acpi>"),
    system("<smbios mode='host'/>"),
    feature("<pae/>"),
    feature("<apic/>"),
    feature("<kvm><hidden state='on'/></kvm>"),
    feature("<vmport state='off'/>"),
    feature("<hyperv><relaxed state='on'/><vapic state='on'/></hyperv>"),
    feature("<vmcoreinfo state='on'/>"),
];

const fn device(line: &'static str) -> Accepted {
    Accepted { behind: "<devices>", line, effect: Effect::Opens }
}

const fn machine(line: &'static str) -> Accepted {
    Accepted { behind: "</metadata>", line, effect: Effect::Opens }
}

const fn system(line: &'static str) -> Accepted {
    Accepted { behind: "<os ", line, effect: Effect::Opens }
}

const fn feature(line: &'static str) -> Accepted {
    Accepted { behind: "<features>", line, effect: Effect::Harmless }
}
