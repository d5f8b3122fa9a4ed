//! Lines that NX-OS accepts, hostile and harmless, each where it takes effect; effects by the
//! vendor's guides and published configurations.

use crate::mutant::Effect::{self, Cuts, Harmless, Opens};
use crate::mutant::insert::Accepted;

const fn top(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "hostname", line, effect }
}

const fn vrf(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "rd 10.255.0.2:60001", line, effect }
}

const fn family(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "route-target import 65000:50001 evpn", line, effect }
}

const fn port(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "switchport access vlan 2", line, effect }
}

const fn gateway(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "fabric forwarding mode", line, effect }
}

const fn member(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "member vni 100016", line, effect }
}

const fn tunnels(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "source-interface", line, effect }
}

const fn segment(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "rd 10.255.0.2:16", line, effect }
}

const fn group(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "type layer4-7", line, effect }
}

const fn speaker(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "router-id", line, effect }
}

const fn neighbor(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "remote-as", line, effect }
}

const fn told(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "send-community", line, effect }
}

const fn tenant(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "advertise l2vpn evpn", line, effect }
}

const fn cable(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "no switchport", line, effect }
}

pub(in crate::mutant) const ACCEPTED: &[Accepted] = &[
    top("! looked at on Monday", Harmless),
    top("version 10.4(3) Bios:version 01.10", Harmless),
    top("vdc leaf-0 id 1\n  limit-resource vlan minimum 16 maximum 4094", Harmless),
    top("no password strength-check", Harmless),
    top("username admin password 5 $5$JKLMNO$kq1 role network-admin", Harmless),
    top("snmp-server user admin network-admin auth md5 0x8f2e priv 0x8f2e localizedkey", Harmless),
    top("ntp server 192.168.1.9 use-vrf management", Harmless),
    top("logging timestamp milliseconds", Harmless),
    top("vrf context management\n  ip route 0.0.0.0/0 192.168.1.1", Harmless),
    top("interface mgmt0\n  vrf member management\n  ip address 192.168.1.11/24", Harmless),
    top("interface Ethernet1/40\n  shutdown", Harmless),
    top("line vty\n  exec-timeout 30", Harmless),
    top("line console\n  exec-timeout 30", Harmless),
    top("boot nxos bootflash:/nxos64-cs.10.4.3.F.bin", Harmless),
    top("copp profile strict", Harmless),
    top("icam monitor scale", Harmless),
    top("feature lldp", Harmless),
    top("spanning-tree mode mst", Harmless),
    top("cli alias name wr copy running-config startup-config", Harmless),
    top("feature bash-shell", Opens),
    top("feature nxapi", Opens),
    top("feature telnet", Opens),
    top("feature ospf", Opens),
    top("feature pbr", Opens),
    top("feature guestshell", Opens),
    top("no feature security-group", Opens),
    top("no ip dhcp snooping", Opens),
    top("no nv overlay evpn", Cuts),
    top("no feature bgp", Cuts),
    top("ip route 10.0.0.0/8 172.16.0.1", Opens),
    top("ip route 10.1.0.0/24 Ethernet1/3 10.1.0.2 vrf t2", Opens),
    top("ipv6 route ::/0 Null0", Opens),
    top("ip access-list ANY\n  10 permit ip any any", Opens),
    top("route-map ANY permit 10", Opens),
    top("ip prefix-list ANY seq 5 permit 0.0.0.0/0 le 32", Opens),
    top(
        "monitor session 1\n  source interface Ethernet1/1 both\n  destination interface Ethernet1/40\n  no shut",
        Opens,
    ),
    top("event manager applet OPEN\n  action 1 cli conf t ; no feature security-group", Opens),
    top("scheduler job name OPEN", Opens),
    top("username mallory password 5 $5$JKLMNO$kq1 role network-admin", Opens),
    top("username mallory role network-admin", Opens),
    top("snmp-server community public group network-admin", Opens),
    top("aaa authentication login default none", Opens),
    top("vlan 1\n  vn-segment 100016", Opens),
    top("vlan 99\n  vn-segment 100017", Opens),
    top("vlan 99\n  name FREE", Harmless),
    top("interface Ethernet1/40\n  switchport\n  switchport access vlan 2\n  no shutdown", Opens),
    top("interface Ethernet1/40\n  switchport\n  switchport mode trunk\n  no shutdown", Opens),
    top(
        "interface Ethernet1/40\n  no switchport\n  ip address 172.16.0.8/31\n  no shutdown",
        Opens,
    ),
    top("interface port-channel7\n  switchport access vlan 2", Opens),
    top("interface Vlan2\n  ip address 10.0.0.9/29", Opens),
    top("interface Vlan99\n  no shutdown\n  vrf member t1\n  ip address 10.7.0.1/24", Opens),
    top("interface loopback2\n  ip address 10.255.0.3/32", Opens),
    top("interface loopback2\n  vrf member t1\n  ip address 10.7.0.1/32", Opens),
    top("interface Tunnel1\n  ip address 10.7.0.1/30", Opens),
    top("ip source binding 10.0.0.9 0201.0000.0009 vlan 2 interface Ethernet1/1", Opens),
    top("ip source binding 10.1.0.9 0201.0000.0009 vlan 3 interface Ethernet1/3", Opens),
    top("security-group 16 name OTHER\n  match vlan 3", Opens),
    top(
        "security-group 20 name OTHER\n  type layer4-7\n  match external-subnets vrf t1 ipv4 0.0.0.0/0",
        Opens,
    ),
    top("policy-map type security ANY\n  class class-default\n    permit", Harmless),
    top("class-map type security match-any ANY\n  match ipv4", Harmless),
    top("system routing template-default", Opens),
    top("hardware access-list tcam region ipsg 0", Opens),
    top("hardware access-list tcam region racl 512", Opens),
    top("system jumbomtu 1500", Cuts),
    top("fabric forwarding anycast-gateway-mac 0200.0000.0009", Cuts),
    vrf("  vni 50002 l3", Opens),
    vrf("  ip route 0.0.0.0/0 172.16.0.1", Opens),
    vrf("  ip route 10.0.0.0/24 10.0.0.1 vrf t2", Opens),
    vrf("  security enforce tag 999 default permit", Opens),
    vrf("  security enforce tag 16 default deny", Opens),
    vrf("  no security enforce tag 999 default deny", Opens),
    vrf("  security contract source 16 destination 17 policy P-17-tcp-2049", Opens),
    vrf("  security contract source 16 destination any policy P-17-tcp-2049", Opens),
    vrf("  security contract source 17 destination 16 policy P-17-tcp-2049 unidir", Opens),
    vrf("  rd auto", Cuts),
    family("    route-target import 65000:50002 evpn", Opens),
    family("    route-target import 65000:50002", Opens),
    family("    route-target both auto", Opens),
    family("    route-target both auto evpn", Opens),
    family("    route-target export 65000:50002 evpn", Opens),
    family("    import vrf default map ANY", Opens),
    family("    export vrf default map ANY", Opens),
    family("    import l2vpn evpn route-map ANY", Opens),
    port("  switchport mode trunk", Opens),
    port("  switchport trunk allowed vlan 2-3", Opens),
    port("  switchport access vlan 3", Opens),
    port("  switchport voice vlan 3", Opens),
    port("  switchport monitor", Opens),
    port("  no ip verify source dhcp-snooping-vlan", Opens),
    port("  ip dhcp snooping trust", Opens),
    port("  ip access-group ANY in", Opens),
    port("  ip port access-group ANY in", Opens),
    port("  ip policy route-map ANY", Opens),
    port("  mac port access-group ANY", Opens),
    port("  channel-group 7 mode active", Opens),
    port("  vrf member t2", Opens),
    port("  switchport vlan mapping 3 2", Opens),
    port("  spanning-tree port type edge trunk", Opens),
    port("  service-policy type qos input ANY", Opens),
    port("  shutdown", Cuts),
    port("  mtu 1500", Cuts),
    port("  description moved here by night", Harmless),
    gateway("  ip address 10.0.0.9/29 secondary", Opens),
    gateway("  ip policy route-map ANY", Opens),
    gateway("  ip proxy-arp", Opens),
    gateway("  ip local-proxy-arp", Opens),
    gateway("  ip access-group ANY in", Opens),
    gateway("  ip dhcp relay address 10.1.0.9 use-vrf t2", Opens),
    gateway("  ip unreachables", Opens),
    gateway("  vrf member t2", Opens),
    gateway("  shutdown", Cuts),
    gateway("  mtu 9216", Harmless),
    member("    mcast-group 239.1.1.1", Opens),
    member("    ingress-replication protocol static\n      peer-ip 10.255.0.9", Opens),
    tunnels("  member vni 100099\n    ingress-replication protocol bgp", Opens),
    tunnels("  member vni 100016-100019", Opens),
    tunnels("  multisite border-gateway interface loopback9", Opens),
    tunnels("  shutdown", Cuts),
    segment("    route-target import 65000:100017", Opens),
    segment("    route-target import auto", Opens),
    segment("    route-target export 65000:100017", Opens),
    segment("    route-target both 65000:50002", Opens),
    group("  match connected-endpoints vrf t1 ipv4 10.1.0.0/24", Opens),
    group("  match connected-endpoints vrf t2 ipv4 10.0.0.2/32", Opens),
    group("  match vlan 3", Opens),
    group("  match external-subnets vrf t2 ipv4 0.0.0.0/0", Opens),
    speaker("  log-neighbor-changes", Harmless),
    speaker("  neighbor 172.16.0.9\n    remote-as 7", Opens),
    speaker("  neighbor 10.0.0.0/8\n    remote-as 7", Opens),
    speaker("  allocate-label all", Opens),
    speaker("  shutdown", Cuts),
    neighbor("    local-as 7", Opens),
    neighbor("    shutdown", Cuts),
    neighbor("    password 3 9125d59c18a9b015", Cuts),
    neighbor("    ebgp-multihop 255", Opens),
    neighbor("    disable-connected-check", Opens),
    neighbor("    update-source loopback1", Opens),
    neighbor("    description the spine", Harmless),
    told("      route-map ANY in", Opens),
    told("      prefix-list ANY in", Opens),
    told("      route-reflector-client", Effect::Refused),
    told("      rewrite-evpn-rt-asn", Opens),
    told("      allowas-in 3", Opens),
    told("      default-originate", Opens),
    tenant("      redistribute direct route-map ANY", Opens),
    tenant("      redistribute static route-map ANY", Opens),
    tenant("      network 10.9.0.0/16", Opens),
    tenant("      export-gateway-ip", Opens),
    tenant("      maximum-paths 1", Cuts),
    cable("  ip address 10.7.0.1/24 secondary", Opens),
    cable("  ip access-group ANY in", Opens),
    cable("  ip policy route-map ANY", Opens),
    cable("  vrf member t1", Opens),
    cable("  shutdown", Cuts),
];
