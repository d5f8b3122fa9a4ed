//! Lines that FRR accepts, hostile and harmless, each where it takes effect.

use crate::mutant::Effect::{self, Cuts, Harmless, Opens};
use crate::mutant::insert::Accepted;

const fn top(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "service integrated", line, effect }
}

const fn vrf(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "vni 50001", line, effect }
}

const fn speaker(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "bgp router-id", line, effect }
}

const fn underlay(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "network 10.255", line, effect }
}

const fn fabric(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "advertise-all-vni", line, effect }
}

const fn tenant(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "router bgp 4200000002 vrf t1", line, effect }
}

const fn routes(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "redistribute connected", line, effect }
}

const fn told(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "advertise ipv4 unicast", line, effect }
}

const fn segment(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "rd 10.255.0.2:16", line, effect }
}

const fn cable(line: &'static str, effect: Effect) -> Accepted {
    Accepted { behind: "ip address 172.16", line, effect }
}

pub(in crate::mutant) const ACCEPTED: &[Accepted] = &[
    top("log syslog informational", Harmless),
    top("log file /var/log/frr/frr.log", Harmless),
    top("log timestamp precision 3", Harmless),
    top("# looked at on Monday", Harmless),
    top("! looked at on Monday", Harmless),
    top("ip route 10.0.0.0/8 172.16.0.1", Opens),
    top("ip route 0.0.0.0/0 Null0", Opens),
    top("ip route 10.1.0.0/16 swp5", Opens),
    top("ipv6 route ::/0 swp5", Opens),
    top("no ip forwarding", Cuts),
    top("ip prefix-list ANY seq 5 permit any", Opens),
    top("route-map ANY permit 10\nexit", Opens),
    top("bgp community-list standard ANY permit 65000:1", Opens),
    top("bgp as-path access-list ANY seq 5 permit .*", Opens),
    top("access-list ANY seq 5 permit any", Opens),
    top("zebra route-map delay-timer 600", Opens),
    top("ip protocol bgp route-map ANY", Opens),
    top("ip import-table 10", Opens),
    top("vrf t9\n vni 50009\nexit-vrf", Opens),
    top("vrf t9\nexit-vrf", Harmless),
    top("interface swp99\nexit", Harmless),
    top("router bgp 4200000002 vrf t9\nexit", Harmless),
    vrf(" ip route 10.0.0.0/8 Null0", Opens),
    vrf(" ip route 10.2.0.0/16 172.16.0.1 nexthop-vrf t2", Opens),
    vrf(" ip route 10.2.0.0/16 172.16.0.1 nexthop-vrf default", Opens),
    vrf(" ipv6 route ::/0 Null0", Opens),
    speaker(" bgp log-neighbor-changes", Harmless),
    speaker(" bgp graceful-shutdown", Opens),
    speaker(" bgp shutdown", Cuts),
    speaker(" bgp listen range 10.0.0.0/8 peer-group ALL", Opens),
    speaker(" no bgp ebgp-requires-policy", Harmless),
    speaker(" bgp ebgp-requires-policy", Cuts),
    speaker(" bgp allow-martian-nexthop", Opens),
    speaker(" bgp cluster-id 10.255.0.9", Opens),
    speaker(" bgp confederation identifier 7", Opens),
    speaker(" bgp disable-ebgp-connected-route-check", Opens),
    speaker(" bgp default local-preference 900", Opens),
    speaker(" neighbor 172.16.0.9 remote-as external", Opens),
    speaker(" neighbor 172.16.0.9 remote-as 7", Opens),
    speaker(" neighbor swp1 interface remote-as external", Opens),
    speaker(" neighbor swp1 interface v6only remote-as external", Opens),
    speaker(" neighbor ANY peer-group", Opens),
    speaker(" neighbor 172.16.0.1 shutdown", Cuts),
    speaker(" neighbor 172.16.0.1 password x", Cuts),
    speaker(" neighbor 172.16.0.1 ebgp-multihop 255", Opens),
    speaker(" neighbor 172.16.0.1 local-as 7", Opens),
    speaker(" neighbor 172.16.0.1 update-source lo", Opens),
    speaker(" neighbor 172.16.0.1 disable-connected-check", Opens),
    speaker(" neighbor 172.16.0.1 description the spine", Harmless),
    speaker(" neighbor 172.16.0.1 timers 0 0", Cuts),
    speaker(" neighbor 172.16.0.1 timers 3 9", Harmless),
    speaker(" neighbor 172.16.0.1 timers 20000 60000", Cuts),
    speaker(" neighbor 172.16.0.1 timers connect 65535", Cuts),
    speaker(" timers bgp 0 0", Cuts),
    speaker(" timers bgp 10 30", Harmless),
    speaker(" timers bgp 20000 60000", Cuts),
    underlay("  network 10.255.0.9/32", Opens),
    underlay("  network 0.0.0.0/0", Opens),
    underlay("  redistribute connected", Opens),
    underlay("  redistribute static", Opens),
    underlay("  redistribute kernel", Opens),
    underlay("  aggregate-address 10.0.0.0/8", Opens),
    underlay("  import vrf t1", Opens),
    underlay("  maximum-paths 16", Harmless),
    underlay("  maximum-paths 1", Cuts),
    underlay("  neighbor 172.16.0.1 route-map ANY in", Opens),
    underlay("  neighbor 172.16.0.1 prefix-list ANY out", Opens),
    underlay("  neighbor 172.16.0.1 default-originate", Opens),
    underlay("  neighbor 172.16.0.1 allowas-in", Opens),
    underlay("  neighbor 172.16.0.1 next-hop-self", Opens),
    underlay("  neighbor 172.16.0.1 maximum-prefix 1", Opens),
    underlay("  neighbor 172.16.0.1 soft-reconfiguration inbound", Opens),
    fabric("  advertise-default-gw", Opens),
    fabric("  advertise-svi-ip", Opens),
    fabric("  advertise ipv4 unicast", Opens),
    fabric("  autort rfc8365-compatible", Opens),
    fabric("  dup-addr-detection freeze permanent", Opens),
    fabric("  no dup-addr-detection", Opens),
    fabric("  flooding disable", Opens),
    fabric("  default-originate ipv4", Opens),
    fabric("  neighbor 172.16.0.1 route-map ANY in", Opens),
    fabric("  neighbor 172.16.0.1 route-reflector-client", Opens),
    fabric("  neighbor 172.16.0.1 allowas-in origin", Opens),
    fabric("  vni 100099\n  exit-vni", Opens),
    fabric("  vni 100099\n   route-target import 65000:50001\n  exit-vni", Opens),
    tenant(" neighbor 10.1.0.2 remote-as external", Opens),
    routes("  redistribute static", Opens),
    routes("  redistribute kernel", Opens),
    routes("  network 10.9.0.0/16", Opens),
    routes("  import vrf t2", Opens),
    routes("  import vrf default", Opens),
    routes("  rd vpn export 10.255.0.2:9", Opens),
    routes("  rt vpn both 65000:50002", Opens),
    routes("  import vpn", Opens),
    routes("  export vpn", Opens),
    routes("  aggregate-address 10.0.0.0/8 summary-only", Opens),
    routes("  maximum-paths 16", Harmless),
    routes("  maximum-paths 1", Cuts),
    routes("  redistribute connected route-map NONE", Cuts),
    told("  advertise ipv4 unicast route-map NONE", Cuts),
    told("  advertise-pip ip 10.255.0.9", Opens),
    told("  no advertise-pip", Opens),
    told("  default-originate ipv4", Opens),
    told("  route-target import 65000:50002", Opens),
    told("  route-target import 7:50002", Opens),
    told("  route-target both 65000:50003", Opens),
    told("  route-target export 65000:100016", Opens),
    segment("   route-target import 65000:100017", Opens),
    segment("   route-target import 10.255.0.2:17", Opens),
    segment("   route-target export 65000:100018", Opens),
    segment("   route-target both 65000:50001", Opens),
    segment("   advertise-svi-ip", Opens),
    segment("   advertise-default-gw", Opens),
    cable(" shutdown", Cuts),
    cable(" description to the spine", Harmless),
    cable(" ip address 10.1.0.1/24", Opens),
    cable(" ipv6 address 2001:db8::1/64", Opens),
    cable(" ip address 172.16.0.4/31", Opens),
];
