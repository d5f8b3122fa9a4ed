//! What a switch prints besides, and what is missed.

mod switch;

use expect_test::expect;
use model::{Dialect, Part};
use read::{Fact, Reading, claims};
use switch::{HEAD, JOB, TENANT, check};

#[test]
fn each_line_that_is_taken_away_is_missed() {
    let mut told = String::new();
    for (is_head, sample) in [(true, HEAD), (false, TENANT), (false, JOB)] {
        let read = |text: &str| match is_head {
            true => read::part(Dialect::Nxos, &Part::Head, text),
            false => claims(Dialect::Nxos, text),
        };
        let full = read(sample);
        assert_eq!(full.lacking, [], "{sample}");
        for at in 0..sample.lines().count() {
            let lines = sample.lines().enumerate().filter(|(line, _)| *line != at);
            let text: String = lines.flat_map(|(_, line)| [line, "\n"]).collect();
            let reading = read(&text);
            let line = sample.lines().nth(at).unwrap();
            // What a line says is missed where lines are joined.
            let facts = |reading: &Reading| -> Vec<Fact> {
                reading.claims.iter().map(|claim| claim.fact.clone()).collect()
            };
            let is_said = facts(&reading) != facts(&full) || !reading.unknown.is_empty();
            let lacking: Vec<&str> = reading.lacking.iter().map(|one| one.text.as_str()).collect();
            let lacking = match lacking.as_slice() {
                [] if is_said => "is said".into(),
                [] => "passes".into(),
                lacking => format!("lacks {}", lacking.join(", ")),
            };
            told += &format!("{}: {lacking}\n", line.trim());
        }
    }
    expect![[r#"
        hostname leaf-1: passes
        feature bgp: lacks feature bgp
        feature interface-vlan: lacks feature interface-vlan
        feature vn-segment-vlan-based: lacks feature vn-segment-vlan-based
        feature nv overlay: lacks feature nv overlay
        feature dhcp: lacks feature dhcp
        feature security-group: lacks feature security-group
        nv overlay evpn: lacks nv overlay evpn
        system routing template-security-groups: lacks system routing template-security-groups
        hardware access-list tcam region ipsg 512: lacks hardware access-list tcam region ipsg 512
        system jumbomtu 9166: lacks system jumbomtu 9166
        ip dhcp snooping: lacks ip dhcp snooping
        fabric forwarding anycast-gateway-mac 0200.0000.0001: lacks fabric forwarding anycast-gateway-mac 0200.0000.0001
        interface loopback1: is said
        ip address 10.255.0.1/32: is said
        interface nve1: is said
        no shutdown: lacks no shutdown of interface nve1
        host-reachability protocol bgp: lacks host-reachability protocol bgp of interface nve1
        source-interface loopback1: lacks source-interface loopback1 of interface nve1
        interface Ethernet1/33: is said
        no switchport: lacks no switchport of interface Ethernet1/33
        mtu 9216: lacks mtu 9216 of interface Ethernet1/33
        ip address 172.16.0.0/31: is said
        no shutdown: lacks no shutdown of interface Ethernet1/33
        route-map UNCHANGED permit 10: lacks set ip next-hop unchanged of route-map UNCHANGED to 172.16.0.1
        set ip next-hop unchanged: lacks set ip next-hop unchanged of route-map UNCHANGED to 172.16.0.1
        router bgp 4200000001: is said
        router-id 10.255.0.1: passes
        bestpath as-path multipath-relax: lacks bestpath as-path multipath-relax of router bgp
        address-family ipv4 unicast: is said
        network 10.255.0.1/32: lacks network 10.255.0.1/32 of address-family ipv4 unicast
        maximum-paths 64: lacks maximum-paths 64 of address-family ipv4 unicast
        address-family l2vpn evpn: lacks address-family l2vpn evpn of router bgp
        maximum-paths 64: lacks maximum-paths 64 of address-family l2vpn evpn
        retain route-target all: is said
        neighbor 172.16.0.1: is said
        remote-as 4200000100: is said
        address-family ipv4 unicast: is said
        address-family l2vpn evpn: is said
        send-community extended: lacks send-community extended of 172.16.0.1
        route-map UNCHANGED out: is said
        vrf context t17: is said
        description acme/research: passes
        vni 50017 l3: is said
        rd 10.255.0.1:60017: is said
        address-family ipv4 unicast: is said
        route-target import 65000:50017 evpn: is said
        route-target export 65000:50017 evpn: is said
        security enforce tag 999 default deny: is said
        interface nve1: is said
        member vni 50017 associate-vrf: is said
        router bgp 4200000001: lacks address-family ipv4 unicast of vrf t17 of router bgp
        vrf t17: lacks address-family ipv4 unicast of vrf t17 of router bgp, address-family l2vpn evpn of router bgp, bestpath as-path multipath-relax of router bgp
        address-family ipv4 unicast: lacks address-family ipv4 unicast of vrf t17 of router bgp
        advertise l2vpn evpn: passes
        maximum-paths 64: lacks maximum-paths 64 of address-family ipv4 unicast of vrf t17
        vlan 100: lacks vn-segment of vlan 100, vlan 100
        name J1001: passes
        vn-segment 101001: lacks vn-segment of vlan 100
        interface Vlan100: is said
        description acme/research/train: passes
        no shutdown: lacks no shutdown of interface Vlan100
        mtu 9166: lacks mtu 9166 of interface Vlan100
        vrf member t17: is said
        ip address 10.1.0.1/28: lacks ip address of interface Vlan100
        fabric forwarding mode anycast-gateway: lacks fabric forwarding mode anycast-gateway of interface Vlan100
        interface nve1: lacks member vni 101001 of interface nve1
        member vni 101001: lacks member vni 101001 of interface nve1
        suppress-arp: passes
        ingress-replication protocol bgp: lacks ingress-replication protocol bgp of member vni 101001
        evpn: is said
        vni 101001 l2: is said
        rd 10.255.0.1:1001: is said
        route-target import 65000:101001: is said
        route-target export 65000:101001: is said
        ip dhcp snooping vlan 100: is said
        security-group 1001 name J1001: is said
        type layer4-7: lacks type layer4-7 of security-group 1001
        match connected-endpoints vrf t17 ipv4 10.1.0.2/32: is said
        interface Ethernet1/5: is said
        description n1 nic 0: passes
        switchport: passes
        switchport access vlan 100: is said
        mtu 9166: lacks mtu 9166 of interface Ethernet1/5
        ip verify source dhcp-snooping-vlan: is said
        no shutdown: passes
        ip source binding 10.1.0.2 0200.0000.0005 vlan 100 interface Ethernet1/5: is said
    "#]].assert_eq(&told);
}

#[test]
fn what_a_device_prints_is_read() {
    check(
        "\
!Command: show running-config
version 10.4(3) Bios:version 01.10
vdc leaf-1 id 1
  limit-resource vlan minimum 16 maximum 4094
feature nv overlay
no password strength-check
username admin password 5 $5$JKLMNO$kq1  role network-admin
ip domain-lookup
snmp-server user admin network-admin auth md5 0x8f2e priv 0x8f2e localizedkey
vlan 1,100-105
vrf context management
  ip route 0.0.0.0/0 192.168.1.1
interface Vlan1
interface Ethernet1/7
  shutdown
interface Ethernet1/8
interface mgmt0
  vrf member management
  ip address 192.168.1.11/24
line console
line vty
  exec-timeout 30
boot nxos bootflash:/nxos64-cs.10.4.3.F.bin
",
        expect![[r#"
            15 Down(Ethernet(7))
            16 Attached { port: Ethernet(8), bridge: Bridge("1") }
            ignored [1, 2, 4, 5, 6, 7, 8, 9, 12, 19, 22, 23]
        "#]],
    );
}

#[test]
fn what_is_an_operators_own_passes_by_its_value_alone() {
    check(
        "\
vdc leaf-1 id 2
username eve password 5 $5$x role network-admin shelltype bash
snmp-server community public group network-admin
snmp-server user eve network-admin
vrf context management
  ip route 10.0.0.0/8 192.168.1.1
  vni 50001 l3
interface mgmt0
  vrf member t17
  ip forward
  ip address 192.168.1.11/24
line vty
  access-class ANY in
boot poap enable
event manager applet OPEN
  action 1 cli conf t
scheduler job name OPEN
feature nxapi
feature bash-shell
guestshell enable
cli alias name no conf t
monitor session 1
  source interface Ethernet1/5
vlan 1-100,50
vlan 2
  private-vlan community
interface port-channel1
interface Ethernet1/5
  switchport mode trunk
  switchport trunk allowed vlan 1-4094
  ip policy route-map ANY
  channel-group 1 mode active
interface Vlan100
  hsrp 1
  mtu 1500
ip local policy route-map ANY
l2protocol tunnel vtp
system nve infra-vlans 100
vpc domain 1
hardware profile portmode 48x25G
router bgp 4200000001
  template peer SPINE
    remote-as 4200000100
  neighbor 172.16.0.1
    inherit peer SPINE
",
        expect![[r#"
            28 Attached { port: Ethernet(5), bridge: Bridge("1") }
            41 LocalAs(Asn(4200000001))
             1 ? vdc leaf-1 id 2: no such line is known here
             2 ? username eve password 5 $5$x role network-admin shelltype bash: no such line is known here
             3 ? snmp-server community public group network-admin: no such line is known here
             4 ? snmp-server user eve network-admin: no such line is known here
             6 ? ip route 10.0.0.0/8 192.168.1.1: no such line is known here
             7 ? vni 50001 l3: no such line is known here
             9 ? vrf member t17: no such line is known here
            10 ? ip forward: no such line is known here
            13 ? access-class ANY in: no such line is known here
            14 ? boot poap enable: no such line is known here
            15 ? event manager applet OPEN: no such line is known here
            16 ? action 1 cli conf t: it stands below a line that is unknown
            17 ? scheduler job name OPEN: no such line is known here
            18 ? feature nxapi: no such line is known here
            19 ? feature bash-shell: no such line is known here
            20 ? guestshell enable: no such line is known here
            21 ? cli alias name no conf t: no such line is known here
            22 ? monitor session 1: no such line is known here
            23 ? source interface Ethernet1/5: it stands below a line that is unknown
            24 ? vlan 1-100,50: a list of VLANs is written 1,100-105, each once and in their order
            26 ? private-vlan community: no such line is known here
            27 ? interface port-channel1: an interface is Ethernet1/5, Vlan100, loopback1 or nve1
            29 ? switchport mode trunk: no such line is known here
            30 ? switchport trunk allowed vlan 1-4094: no such line is known here
            31 ? ip policy route-map ANY: no such line is known here
            32 ? channel-group 1 mode active: no such line is known here
            34 ? hsrp 1: no such line is known here
            35 ? mtu 1500: a gateway takes the frames that its ports take, of 9166 bytes
            36 ? ip local policy route-map ANY: no such line is known here
            37 ? l2protocol tunnel vtp: no such line is known here
            38 ? system nve infra-vlans 100: no such line is known here
            39 ? vpc domain 1: no such line is known here
            40 ? hardware profile portmode 48x25G: no such line is known here
            42 ? template peer SPINE: no such line is known here
            43 ? remote-as 4200000100: it stands below a line that is unknown
            45 ? inherit peer SPINE: no such line is known here
             8 lacks vrf member management of interface mgmt0: the port for people is in the fabric's own routing
            ignored [11]
        "#]],
    );
}

#[test]
fn a_port_is_what_all_of_its_lines_say_and_what_is_so_without_them() {
    check(
        "\
interface Ethernet1/1
  no switchport
  ip address 172.16.0.0/31
interface Ethernet1/2
  ip address 172.16.0.2/31
  no shutdown
interface Ethernet1/3
  switchport access vlan 7
  mtu 9216
interface Ethernet1/4
  switchport access vlan 7
  mtu 1500
interface Ethernet1/5
  no switchport
  mtu 9000
  ip address 172.16.0.4/31
  no shutdown
interface Ethernet1/6
  switchport
  no switchport
interface Ethernet1/7
  no switchport
  switchport access vlan 7
",
        expect![[r#"
             8 Attached { port: Ethernet(3), bridge: Bridge("7") }
             9 LongFrames { port: Ethernet(3), mtu: 9216 }
            11 Attached { port: Ethernet(4), bridge: Bridge("7") }
            12 ShortFrames { port: Ethernet(4), mtu: 1500 }
            15 ShortFrames { port: Ethernet(5), mtu: 9000 }
            16 CableAddress { port: Ethernet(5), address: 172.16.0.4 }
            18 Attached { port: Ethernet(6), bridge: Bridge("1") }
            20 ? no switchport: the port is said to be bridged and to be routed
            23 ? switchport access vlan 7: a routed port is in no VLAN
             1 lacks no shutdown of interface Ethernet1/1: a routed port is down until it is told
             1 lacks mtu 9216 of interface Ethernet1/1: frames of more than 1,500 bytes are lost
             4 lacks no switchport of interface Ethernet1/2: a bridged port has no address: its cable is dead
             8 lacks vlan 7: ports are in a VLAN that is not there, and dead
            ignored []
        "#]],
    );
    check(
        "\
no system default switchport
system default switchport shutdown
interface Ethernet1/1
  ip address 172.16.0.0/31
  mtu 9216
  no shutdown
interface Ethernet1/2
  switchport
  switchport access vlan 7
  mtu 9166
",
        expect![[r#"
             4 CableAddress { port: Ethernet(1), address: 172.16.0.0 }
             7 Down(Ethernet(2))
             9 Attached { port: Ethernet(2), bridge: Bridge("7") }
             9 lacks vlan 7: ports are in a VLAN that is not there, and dead
            ignored []
        "#]],
    );
}

#[test]
fn a_vni_of_a_vrf_is_up_by_itself_or_by_a_vlan_that_routes() {
    check(
        "\
vlan 3000
  vn-segment 50017
vlan 3001
  vn-segment 50018
interface Vlan3000
  no shutdown
  vrf member t17
  ip forward
interface Vlan3001
  vrf member t18
  ip forward
vrf context t17
  vni 50017
vrf context t18
  vni 50018
vrf context t19
  vni 50019 l3
",
        expect![[r#"
             7 RoutedIn { bridge: Bridge("3000"), vrf: VrfName("t17") }
            10 RoutedIn { bridge: Bridge("3001"), vrf: VrfName("t18") }
            13 VrfVni { vrf: VrfName("t17"), vni: Vni(50017) }
            13 VrfUp { vrf: VrfName("t17"), vni: Vni(50017) }
            15 VrfVni { vrf: VrfName("t18"), vni: Vni(50018) }
            17 VrfUp { vrf: VrfName("t19"), vni: Vni(50019) }
            17 VrfVni { vrf: VrfName("t19"), vni: Vni(50019) }
            13 lacks address-family ipv4 unicast of vrf t17 of router bgp: the VRF hears of no route of another leaf
            15 lacks address-family ipv4 unicast of vrf t18 of router bgp: the VRF hears of no route of another leaf
            17 lacks address-family ipv4 unicast of vrf t19 of router bgp: the VRF hears of no route of another leaf
            ignored []
        "#]],
    );
}
