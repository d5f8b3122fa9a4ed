//! A switch's text in its parts, and what is read of a text.

#![allow(dead_code, reason = "each test takes what it needs")]

use expect_test::Expect;
use model::Dialect;
use read::{Reading, claims};

pub(crate) const HEAD: &str = "\
hostname leaf-1
feature bgp
feature interface-vlan
feature vn-segment-vlan-based
feature nv overlay
feature dhcp
feature security-group
nv overlay evpn
system routing template-security-groups
hardware access-list tcam region ipsg 512
system jumbomtu 9166
ip dhcp snooping
fabric forwarding anycast-gateway-mac 0200.0000.0001
interface loopback1
  ip address 10.255.0.1/32
interface nve1
  no shutdown
  host-reachability protocol bgp
  source-interface loopback1
interface Ethernet1/33
  no switchport
  mtu 9216
  ip address 172.16.0.0/31
  no shutdown
route-map UNCHANGED permit 10
  set ip next-hop unchanged
router bgp 4200000001
  router-id 10.255.0.1
  bestpath as-path multipath-relax
  address-family ipv4 unicast
    network 10.255.0.1/32
    maximum-paths 64
  address-family l2vpn evpn
    maximum-paths 64
    retain route-target all
  neighbor 172.16.0.1
    remote-as 4200000100
    address-family ipv4 unicast
    address-family l2vpn evpn
      send-community extended
      route-map UNCHANGED out
";

pub(crate) const TENANT: &str = "\
vrf context t17
  description acme/research
  vni 50017 l3
  rd 10.255.0.1:60017
  address-family ipv4 unicast
    route-target import 65000:50017 evpn
    route-target export 65000:50017 evpn
  security enforce tag 999 default deny
interface nve1
  member vni 50017 associate-vrf
router bgp 4200000001
  vrf t17
    address-family ipv4 unicast
      advertise l2vpn evpn
      maximum-paths 64
";

pub(crate) const JOB: &str = "\
vlan 100
  name J1001
  vn-segment 101001
interface Vlan100
  description acme/research/train
  no shutdown
  mtu 9166
  vrf member t17
  ip address 10.1.0.1/28
  fabric forwarding mode anycast-gateway
interface nve1
  member vni 101001
    suppress-arp
    ingress-replication protocol bgp
evpn
  vni 101001 l2
    rd 10.255.0.1:1001
    route-target import 65000:101001
    route-target export 65000:101001
ip dhcp snooping vlan 100
security-group 1001 name J1001
  type layer4-7
  match connected-endpoints vrf t17 ipv4 10.1.0.2/32
interface Ethernet1/5
  description n1 nic 0
  switchport
  switchport access vlan 100
  mtu 9166
  ip verify source dhcp-snooping-vlan
  no shutdown
ip source binding 10.1.0.2 0200.0000.0005 vlan 100 interface Ethernet1/5
";

pub(crate) const CONSENT: &str = "\
class-map type security match-any C-tcp-2049
  match ipv4 tcp stateful dport 2049
policy-map type security P-tcp-2049
  class C-tcp-2049
    permit
vrf context t17
  address-family ipv4 unicast
    route-target import 65000:50018
    route-target import 65000:50018 evpn
    route-target export 65000:50017
  security contract source 1001 destination 2001 policy P-tcp-2049
";

pub(crate) fn check(text: &str, expect: Expect) {
    expect.assert_eq(&told(&claims(Dialect::Nxos, text)));
}

fn told(reading: &Reading) -> String {
    let claims = reading.claims.iter();
    let claims = claims.map(|claim| format!("{:>2} {:?}\n", claim.line, claim.fact));
    let unknown = reading.unknown.iter();
    let unknown = unknown.map(|line| format!("{:>2} ? {}: {}\n", line.line, line.text, line.why));
    let lacking = reading.lacking.iter();
    let lacking = lacking.map(|one| format!("{:>2} lacks {}: {}\n", one.line, one.text, one.why));
    let ignored = std::iter::once(format!("ignored {:?}\n", reading.ignored));
    claims.chain(unknown).chain(lacking).chain(ignored).collect()
}
