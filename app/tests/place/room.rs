use expect_test::expect;
use serde_json::Value;

use crate::desk::Desk;
use crate::yard::{check, desk, long, run};

/// Jobs came and went, and left two nodes half used.
fn fragmented(name: &str) -> Desk {
    let before = "
        Tenant red: {pools: [10.0.0.0/16], grade: gpu}
        Tenant blue: {pools: [10.0.0.0/16], grade: gpu}
        Tenant crown: {pools: [10.0.0.0/16], grade: node, quota: {gpus: 8, reserved: 6}}
        Job a: {tenant: red, gpus: 4}
        Job b: {tenant: red, gpus: 4}
        Job c: {tenant: blue, gpus: 4}
        Job d: {tenant: blue, gpus: 4}
        Job e: {tenant: red, gpus: 8}
        Job f: {tenant: crown, gpus: 4, product: H100-80GB, capacity: reserved}
    ";
    let desk = desk(name, before);
    run(&desk, "apply --to sim").ends(0);
    let after: Vec<&str> = before
        .lines()
        .filter(|line| !line.contains("Job b:") && !line.contains("Job d:"))
        .collect();
    desk.write("work.yaml", &long(&after.join("\n")));
    run(&desk, "apply --prune --yes --to sim").ends(0);
    desk
}

#[test]
fn capacity_says_what_is_free_and_why_it_may_be_of_no_use() {
    let desk = fragmented("capacity");
    check(
        &desk,
        "capacity",
        expect![[r#"
        34 GPUs, 58 % used.

          place       gpus  used  resting  unusable  stranded  fragmented  free  in one leaf
          fleet         34    20        0         0         4           8     2
          ams           32    20        0         0         4           8     0
            ams-yard    32    20        0         0         4           8     0            0
          rtm            2     0        0         0         0           0     2
            rtm-quay     2     0        0         0         0           0     2            2

          tenant  grade  quota  bought  reserved  on demand  preemptible  stranded
          red     gpu    -      -              0         12            0         0
          crown   node   8      6              4          0            0         4
          blue    gpu    -      -              0          4            0         0
        --- ends with 0
    "#]],
    );
    let said = run(&desk, "capacity -o json").ends(0).out;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["fleet"]["stranded"], 4);
    assert_eq!(said["pods"][0]["largestInALeaf"], 0);
}

#[test]
fn jobs_without_a_place_are_counted() {
    let desk = desk(
        "waiting",
        "
        Tenant red: {pools: [10.0.0.0/16], quota: {gpus: 8}}
        Job large: {tenant: red, gpus: 64}
        Job small: {tenant: red, gpus: 1}
        ",
    );
    check(
        &desk,
        "capacity",
        expect![[r#"
        34 GPUs, 2 % used.

          place       gpus  used  resting  unusable  stranded  fragmented  free  in one leaf
          fleet         34     1        0         0         1           0    32
          ams           32     0        0         0         0           0    32
            ams-yard    32     0        0         0         0           0    32           16
          rtm            2     1        0         0         1           0     0
            rtm-quay     2     1        0         0         1           0     0            0

          tenant  grade  quota  bought  reserved  on demand  preemptible  stranded
          red     node   8      -              0          1            0         1

        1 job without a place
          red/large  over-quota
        --- ends with 0
    "#]],
    );
    check(
        &desk,
        "place --tenant red --gpus 1",
        expect![[r#"
            red/new-gang would get 1 L40S-48GB GPU in pod rtm-quay: 1 node below leaf-9.
              node  modules  interfaces  numa
              q1    2        1           0
              P_Key 0x0002
            --- told beside it
            1 other job of the documents found no place: red/large.
            --- ends with 0
        "#]],
    );
}

#[test]
fn moves_are_proposed_that_make_a_gang_fit() {
    let desk = fragmented("defrag");
    check(
        &desk,
        "place --tenant red --gpus 8",
        expect![[r#"
            --- told beside it
            Job red/new-gang wants 8 GPUs in one pod, but of the 8 GPUs that are free in ams-yard, the
              best it may use, 0 are in nodes or sets that fit.
              Ask for less, or see what `defrag` would move.
            Refused: 1 refusal, and nothing was done.
            --- ends with 1
        "#]],
    );
    check(
        &desk,
        "defrag --tenant red --gpus 8",
        expect![[r#"
            1 move of 4 GPUs, in this order
              1  blue/c with 4 GPUs
                 from n1 (modules 1-4)
                 to   n3 (modules 5-8)
            red/new-gang then would get 8 H100-80GB GPUs in pod ams-yard: 1 node below leaf-1.
              node  modules  interfaces  numa
              n1    1-8      0-7         0-1
              P_Key 0x0002
            --- ends with 0
        "#]],
    );
    check(
        &desk,
        "defrag --tenant red --gpus 4",
        expect![[r#"
            Nothing needs to move.
            red/new-gang would get 4 H100-80GB GPUs in pod ams-yard: 1 node below leaf-1.
              node  modules  interfaces  numa
              n1    5-8      4-7         1
              P_Key 0x0002
            --- ends with 0
        "#]],
    );
    check(
        &desk,
        "defrag --tenant red --gpus 16",
        expect![[r#"
        --- told beside it
        Job red/new-gang asks for 16 GPUs on demand, but 12 are left beside the 2 that others reserved
          and do not use; no moves of other jobs were found that would help.
          Ask for less, ask as preemptible, or reserve the GPUs.
        Refused: 1 refusal, and nothing was done.
        --- ends with 1
    "#]],
    );
    let said = run(&desk, "defrag --tenant red --gpus 8 -o json").ends(0).out;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["moves"].as_array().map(Vec::len), Some(1));
}
