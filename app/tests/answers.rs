//! What each room's answer looks like, to people and to programs.

mod desk;

use desk::{CLUSTER, Desk};
use expect_test::{Expect, expect};
use serde_json::Value;

#[track_caller]
fn check(name: &str, arguments: &[&str], code: i32, answer: Expect) {
    let said = Desk::new(name).run(arguments).ends(code);
    assert_eq!(said.complaints(), "");
    answer.assert_eq(&said.out);
}

#[test]
fn a_fleet_is_shown_as_tables() {
    check(
        "fleet-show",
        &["fleet", "show", CLUSTER],
        0,
        expect![[r#"
        Fleet harbour: 44 GPUs on 7 nodes in 2 pods; sites ams (core, NL), rtm (edge, NL).

          pod      nodes  gpus  leaves  spines  judged
          ams-pod      5    40       2       1  leaf 5
          rtm-pod      2     4       1       0  host 2

          node model  nodes  gpus each  product    nics
          hgx-h100        5          8  H100-80GB  8 x 400Gbps
          edge-l40s       2          2  L40S-48GB  2 x 100Gbps

          devices  count  dialects
          leaf         2  frr, linux, table
          leaf         1  nxos
          node         2  frr, linux, table
          spine        1  nxos
    "#]],
    );
}

#[test]
fn a_pair_that_may_not_meet_is_explained() {
    check(
        "why-not",
        &["why", "red/tune", "blue/train", CLUSTER],
        0,
        expect![[r#"
            Of 4 pairs, the first between which most passes:
            n1/2 at leaf-1 Ethernet1/3 (red/tune) to n2/0 at leaf-1 Ethernet1/9 (blue/train)
              owner    apart  red/tune and blue/train did not both consent to anything
              port     open   leaf-1 Ethernet1/3 is in segment 100018 as 10.1.0.10
                       leaf-1 nxos:187  switchport access vlan 4
                       leaf-1 nxos:191  ip source binding 10.1.0.10 0201.0000.0002 vlan 4 interface Ethernet1/3
              port     open   leaf-1 Ethernet1/9 is in segment 100016 as 10.1.0.2
                       leaf-1 nxos:97   switchport access vlan 2
                       leaf-1 nxos:101  ip source binding 10.1.0.2 0201.0000.0008 vlan 2 interface Ethernet1/9
              segment  apart  two bridge domains of one device: not bridged
              vrf      apart  VRF t2 imports nothing that VRF t1 exports
              group    apart  group 18 to group 16, judged at the receiver's switch
                       leaf-1 nxos:183  match connected-endpoints vrf t2 ipv4 10.1.0.10/32
                       leaf-1 nxos:92   match connected-endpoints vrf t1 ipv4 10.1.0.2/32
              nothing passes
            n2/0 at leaf-1 Ethernet1/9 (blue/train) to n1/2 at leaf-1 Ethernet1/3 (red/tune)
              owner    apart  blue/train and red/tune did not both consent to anything
              port     open   leaf-1 Ethernet1/9 is in segment 100016 as 10.1.0.2
                       leaf-1 nxos:97   switchport access vlan 2
                       leaf-1 nxos:101  ip source binding 10.1.0.2 0201.0000.0008 vlan 2 interface Ethernet1/9
              port     open   leaf-1 Ethernet1/3 is in segment 100018 as 10.1.0.10
                       leaf-1 nxos:187  switchport access vlan 4
                       leaf-1 nxos:191  ip source binding 10.1.0.10 0201.0000.0002 vlan 4 interface Ethernet1/3
              segment  apart  two bridge domains of one device: not bridged
              vrf      apart  VRF t1 imports nothing that VRF t2 exports
              group    apart  group 16 to group 18, judged at the receiver's switch
                       leaf-1 nxos:92   match connected-endpoints vrf t1 ipv4 10.1.0.2/32
                       leaf-1 nxos:183  match connected-endpoints vrf t2 ipv4 10.1.0.10/32
              nothing passes
            They cannot meet.
        "#]],
    );
}

#[test]
fn a_pair_that_may_meet_is_explained() {
    check(
        "why",
        &["why", "n1/0", "vault/files", CLUSTER],
        0,
        expect![[r#"
            n1/0 at leaf-1 Ethernet1/1 (red/train) to n5/0 at leaf-2 swp9 (vault/files)
              owner    open   red/train and vault/files both consented to tcp 2049
              port     open   leaf-1 Ethernet1/1 is in segment 100017 as 10.1.0.2
                       leaf-1 nxos:137  switchport access vlan 3
                       leaf-1 nxos:141  ip source binding 10.1.0.2 0201.0000.0000 vlan 3 interface Ethernet1/1
              port     open   leaf-2 swp9 is in segment 100019 as 10.9.0.2
                       leaf-2 linux:20  link swp9 master br19 mtu 9216 judged
                       leaf-2 linux:21  neigh 10.9.0.2 lladdr 02:01:00:00:00:20 dev swp9 master br19
              segment  apart  the sender's segment imports nothing that the receiver's exports
              vrf      open   VRF t2 imports what VRF t3 exports
                       leaf-1 nxos:158  route-target import 65000:50003 evpn
                       leaf-2 frr:61    route-target export 65000:50003
              group    open   a rule lets groups 17 and 19 speak at tcp 2049
                       leaf-1 nxos:132  match connected-endpoints vrf t2 ipv4 10.1.0.2/32
                       leaf-2 table:19  endpoint t3 10.9.0.2 mac 02:01:00:00:00:20 port swp9 tag 19
                       leaf-2 table:21  permit t3 17 19 tcp 2049
              passes: unicast to tcp 2049, routed through a tunnel
            n5/0 at leaf-2 swp9 (vault/files) to n1/0 at leaf-1 Ethernet1/1 (red/train)
              owner    open   vault/files and red/train both consented to tcp 2049
              port     open   leaf-2 swp9 is in segment 100019 as 10.9.0.2
                       leaf-2 linux:20  link swp9 master br19 mtu 9216 judged
                       leaf-2 linux:21  neigh 10.9.0.2 lladdr 02:01:00:00:00:20 dev swp9 master br19
              port     open   leaf-1 Ethernet1/1 is in segment 100017 as 10.1.0.2
                       leaf-1 nxos:137  switchport access vlan 3
                       leaf-1 nxos:141  ip source binding 10.1.0.2 0201.0000.0000 vlan 3 interface Ethernet1/1
              segment  apart  the sender's segment imports nothing that the receiver's exports
              vrf      open   VRF t3 reaches it in VNI 50002
                       leaf-2 linux:22  reach 10.1.0.2-10.1.0.5 vrf t3 vtep 10.255.0.2 every 2 vni 50002
              group    open   a rule lets groups 19 and 17 speak at tcp 2049
                       leaf-2 table:19  endpoint t3 10.9.0.2 mac 02:01:00:00:00:20 port swp9 tag 19
                       leaf-1 nxos:132  match connected-endpoints vrf t2 ipv4 10.1.0.2/32
                       leaf-1 nxos:160  security contract source 17 destination 19 policy P-17-tcp-2049
              passes: unicast from tcp 2049, routed through a tunnel
            They can meet: unicast to tcp 2049, unicast from tcp 2049.
        "#]],
    );
}

#[test]
fn a_text_is_read_with_its_lines() {
    let desk = Desk::new("read");
    let text = "vtep 10.255.0.3\n# by hand\nvrf t17\nip rule add pref 7\n";
    let answer = desk.run_with(&["read", "--dialect", "linux", "-"], text).ends(1);
    expect![[r#"
        1  sends its tunnels from 10.255.0.3
        1  has the address 10.255.0.3
        4  unknown `ip rule add pref 7`: no line of this dialect is written so
        Not read: 1 unknown line, 2 claims; 1 line ignored, see --ignored
    "#]]
    .assert_eq(&answer.out);
}

#[test]
fn the_ignored_lines_of_a_text_are_shown() {
    let desk = Desk::new("ignored");
    let text = "hostname leaf-1\nfeature bgp\n";
    let arguments = ["read", "--dialect", "nxos", "--ignored", "-"];
    let answer = desk.run_with(&arguments, text).ends(0);
    answer.says("All such lines of nxos\n").says("Ignored ");
}

#[test]
fn every_answer_for_programs_is_json() {
    let desk = Desk::new("json");
    let leaf = desk.run(&["render", CLUSTER, "--device", "leaf-1"]).ends(0);
    desk.write("leaf-1.conf", &leaf.out);
    for (arguments, key) in [
        (&["plan", CLUSTER][..], "plan"),
        (&["fleet", "show", CLUSTER], "pods"),
        (&["verify", CLUSTER], "proved"),
        (&["apply", CLUSTER, "--to", "sim"], "receipts"),
        (&["verify", CLUSTER, "--held"], "findings"),
        (&["why", "red/train", "vault/files", CLUSTER], "directions"),
        (&["read", "--dialect", "nxos", "leaf-1.conf"], "claims"),
    ] {
        let json = desk.run(&[arguments, &["-o", "json"]].concat()).ends(0);
        assert_eq!(json.err, "", "{arguments:?}");
        let mut json: Value = serde_json::from_str(&json.out).unwrap();
        assert!(!json[key].is_null(), "no {key} in the answer of {arguments:?}");
        let yaml = desk.run(&[arguments, &["-o", "yaml"]].concat()).ends(0);
        let mut yaml: Value = serde_saphyr::from_str(&yaml.out).unwrap();
        // When devices were looked at is another moment each time.
        for answer in [&mut json, &mut yaml] {
            answer.pointer_mut("/verdict/scope/observedAt").map(Value::take);
        }
        if arguments[0] != "apply" {
            assert_eq!(json, yaml, "{arguments:?}");
        }
    }
}

#[test]
fn a_schema_is_printed_with_everything_that_it_refers_to() {
    let desk = Desk::new("schema");
    let printed = desk.run(&["schema", "verify"]).ends(0);
    let schema: Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!(schema["$id"], "https://bulkhead.dev/schema/verify-1.json");
    let beside: Vec<&String> = schema["$defs"].as_object().unwrap().keys().collect();
    assert_eq!(beside, ["common-1.json", "findings-1.json"]);
    desk.run(&["schema"]).ends(0).says("verify\n").says("filter show\n");
    desk.run(&["schema", "demo"]).ends(1).complains("`demo` answers no programs");
}

#[test]
fn programs_get_the_memory_channel_of_a_gang() {
    let desk = Desk::new("channel");
    let made = ["fleet", "generate", "--gpus", "144", "--nvl72", "100", "--layers", "--workload"];
    desk.write("cluster.yaml", &desk.run(&[&made[..], &["--jobs", "1"]].concat()).ends(0).out);
    let asked = ["place", "cluster.yaml", "--tenant", "tenant-1", "--gpus", "8", "-o", "json"];
    let answer: Value = serde_json::from_str(&desk.run(&asked).ends(0).out).unwrap();
    assert!(answer["place"]["channel"].is_u64(), "{answer:#}");
}

#[test]
fn every_text_can_be_written_to_a_file() {
    let desk = Desk::new("files");
    desk.run(&["render", CLUSTER, "--out", "configs"]).ends(0).says("Wrote 14 files");
    let written = std::fs::read_to_string(desk.path("configs/leaf-2/table")).unwrap();
    let printed = desk.run(&["render", CLUSTER, "--device", "leaf-2", "--dialect", "table"]);
    assert_eq!(written, printed.ends(0).out);
}

#[test]
fn every_shell_gets_its_completions() {
    let desk = Desk::new("completions");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        desk.run(&["completions", shell]).ends(0).says("bulkhead");
    }
}

#[test]
fn the_demonstration_shows_a_breach_and_ends_proved() {
    let desk = Desk::new("demo");
    let demo = desk.run(&["demo"]).ends(0);
    assert_eq!(demo.err, "");
    let (sound, hole) = demo.out.split_once("8. A hole").unwrap();
    let (hole, repair) = hole.split_once("9. The repair").unwrap();
    let (repair, layers) = repair.split_once("10. Two layers that disagree").unwrap();
    let (layers, kernel) = layers.split_once("11. In the kernel").unwrap();
    assert!(sound.contains("13 endpoints of 5 jobs of 4 tenants on 6 devices"));
    assert!(sound.contains("They can meet: ") && sound.contains("They cannot meet."));
    assert!(hole.contains("breach  leaf-1 Ethernet1/1 (red/train) meets leaf-1 Ethernet1/9"));
    assert!(hole.contains("Not proved: ") && hole.contains("n2/0 (blue/train)"));
    assert!(repair.contains("Proved") && !repair.contains("blue/train"));
    assert!(layers.contains("12 texts: all agree"));
    assert!(layers.contains("of blue/tune vfio names GPUs 5, 7 and nvlink names GPUs 5, 6, 7, 8"));
    check_kernel(kernel);
    let wide = demo.out.lines().find(|line| line.chars().count() > 100);
    assert_eq!(wide, None, "wider than a terminal");
    assert_eq!(std::fs::read_dir(desk.path("")).unwrap().count(), 0, "nothing is written");
}

/// A host that two tenants share, with all layers.
const HALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/hall/hall.yaml");

#[test]
fn a_pair_is_explained_on_every_layer() {
    let said = Desk::new("why-layers").run(&["why", "red/train", "blue/tune", HALL]).ends(0);
    let (_, layers) = said.out.split_once("Besides the network\n").unwrap();
    let answers = layers.lines().filter(|line| !line.starts_with("   "));
    expect![[r#"
          host       apart  both are on h1, each in a machine of its own (grades gpu and gpu)
          vfio       apart  red/train is in IOMMU group 16 of h1, IOMMU group 17 of h1, IOMMU group 18 of h1, IOMMU group 19 of h1 and 4 more; blue/tune in IOMMU group 20 of h1, IOMMU group 22 of h1, IOMMU group 28 of h1, IOMMU group 30 of h1
          nvlink     apart  red/train is in NVLink partition 1 of h1; blue/tune in NVLink partition 5 of h1
          pkey       apart  red/train is in InfiniBand partition 0x0002 of subnet-ams-hall; blue/tune in InfiniBand partition 0x0001 of subnet-ams-hall
          devices    apart  red/train is in GPU 1 of h1, GPU 2 of h1, GPU 3 of h1, GPU 4 of h1; blue/tune in GPU 5 of h1, GPU 7 of h1
          vm         apart  red/train is in GPU 1 of h1, GPU 2 of h1, GPU 3 of h1, GPU 4 of h1; blue/tune in GPU 5 of h1, GPU 7 of h1
          slurm      apart  red/train is in Slurm partition red; blue/tune in Slurm partition blue
          kubernetes apart  red/train is in namespace red-t2; blue/tune in namespace blue-t1
        They cannot meet.
    "#]].assert_eq(&answers.map(|line| format!("{line}\n")).collect::<String>());
    let json =
        Desk::new("why-layers-json").run(&["why", "red/train", "blue/tune", HALL, "-o", "json"]);
    let answer: Value = serde_json::from_str(&json.ends(0).out).unwrap();
    assert_eq!(answer["layers"].as_array().unwrap().len(), 8);
    assert_eq!(answer["canMeet"], false);
}

#[test]
fn a_vcluster_is_only_for_a_tenant_with_jobs() {
    let values = Desk::new("vcluster").run(&["render", HALL, "--vcluster", "red"]).ends(0);
    assert!(values.out.starts_with("# Values of the vCluster in the namespace red-t2.\n"));
    let nobody = Desk::new("vcluster-nobody").run(&["render", HALL, "--vcluster", "lime"]).ends(1);
    assert!(nobody.err.contains("`lime` is no tenant with jobs"), "{}", nobody.err);
}

#[test]
fn slices_are_counted_for_mig_parted_by_device_file() {
    let place = ["place", HALL, "--tenant", "red", "--slices", "2x1g.10gb", "--mig-parted"];
    let said = Desk::new("mig-parted").run(&place).ends(0);
    let cut = said.out.lines().skip_while(|line| !line.contains("mig-enabled: true")).nth(2);
    // Red is of grade gpu, so nobody is on the GPU it would cut.
    assert_eq!(cut, Some("        \"1g.10gb\": 2"), "{}", said.out);
    assert!(said.out.contains("counted here and not placed"));
}

/// With the privilege the real program judges; without it, one line says so.
#[track_caller]
fn check_kernel(said: &str) {
    let ip = std::process::Command::new("ip").arg("-Version").output();
    if !nix::unistd::geteuid().is_root() || ip.is_err() {
        assert!(said.contains("Left out, as it needs root and `ip`: "));
        println!("skipped: the packet program, as it needs root and `ip`");
        return;
    }
    let outcomes: Vec<&str> = said.lines().filter(|line| line.contains("  to  n")).collect();
    expect![[r#"
        [
            "  n4/0  to  n4/1  ping      arrives             one job, one host",
            "  n4/0  to  n4/2  ping      dropped: other-job  another job of the same tenant",
            "  n4/0  to  n5/0  tcp 2049  arrives             both sides agreed",
            "  n4/0  to  n5/0  ping      dropped: other-job  nobody agreed to that",
            "  n1/0  to  n4/0  ping      arrives             one job, through a tunnel",
            "  n1/0  to  n4/0  ping      dropped: untagged   forged: without a tag",
            "  n1/0  to  n4/0  ping      dropped: tag        forged: with a tag of somebody else",
            "  n4/0  to  n4/1  ping      dropped: closed     one job, but the lease has ended",
        ]
    "#]]
    .assert_debug_eq(&outcomes);
    assert!(said.contains("up0 untagged: 10.255.0.2 > 10.255.0.3 vni 100017 untagged"));
}
