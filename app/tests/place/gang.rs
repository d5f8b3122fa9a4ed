use expect_test::expect;
use serde_json::Value;

use crate::yard::{check, desk, run};

const QUIET: &str = "
    Tenant red: {pools: [10.0.0.0/16], grade: gpu}
    Tenant blue: {pools: [10.0.0.0/16], grade: slice}
    Job train: {tenant: red, gpus: 8}
";

#[test]
fn a_gang_gets_exact_gpus_with_their_interfaces() {
    let desk = desk("exact", QUIET);
    check(
        &desk,
        "place --tenant red --gpus 4",
        expect![[r#"
            red/new-gang would get 4 H100-80GB GPUs in pod ams-yard: 1 node below leaf-1.
              node  modules  interfaces  numa
              n2    1-4      0-3         0
              P_Key 0x0002
            --- ends with 0
        "#]],
    );
    check(
        &desk,
        "place --tenant red --gpus 16",
        expect![[r#"
            red/new-gang would get 16 H100-80GB GPUs in pod ams-yard: 2 nodes below leaf-2.
              node  modules  interfaces  numa
              n3    1-8      0-7         0-1
              n4    1-8      0-7         0-1
              P_Key 0x0002
            --- ends with 0
        "#]],
    );
    check(
        &desk,
        "place --tenant red --gpus 24",
        expect![[r#"
            red/new-gang would get 24 H100-80GB GPUs in pod ams-yard: 3 nodes below 2 leaves.
              leaf    nodes
              leaf-1      1
              leaf-2      2
              node  modules  interfaces  numa
              n2    1-8      0-7         0-1
              n3    1-8      0-7         0-1
              n4    1-8      0-7         0-1
              P_Key 0x0002
            --- ends with 0
        "#]],
    );
    check(
        &desk,
        "place --tenant red --gpus 1 --site edge",
        expect![[r#"
            red/new-gang would get 1 L40S-48GB GPU in pod rtm-quay: 1 node below leaf-9.
              node  modules  interfaces  numa
              q1    1        0           0
              P_Key 0x0002
            --- ends with 0
        "#]],
    );
    check(
        &desk,
        "place --tenant blue --slices 3x1g.10gb",
        expect![[r#"
            blue/new-gang would get 3 H100-80GB 1g.10gb slices on 1 GPU in pod ams-yard: 1 node below leaf-1.
              node  module  profile  slot  interface  function
              n2    1       1g.10gb  4     0          4
              n2    1       1g.10gb  5     0          5
              n2    1       1g.10gb  6     0          6
              P_Key 0x0002
            --- ends with 0
        "#]],
    );
    check(
        &desk,
        "place --job red/train",
        expect![[r#"
            red/train would get 8 H100-80GB GPUs in pod ams-yard: 1 node below leaf-1.
              node  modules  interfaces  numa
              n1    1-8      0-7         0-1
              P_Key 0x0001
            --- ends with 0
        "#]],
    );
}

#[test]
fn an_answer_is_explained_constraint_by_constraint_and_level_by_level() {
    let desk = desk("explain", QUIET);
    check(
        &desk,
        "place --tenant red --gpus 24 --within leaf --explain",
        expect![[r#"
            What each constraint leaves of the GPUs (24 GPUs wanted)
                                         fleet  best pod
              in the fleet                  34        32
              under an allowed law          34        32
              in the named pod              34        32
              at such a site                34        32
              of that product               34        32
              on healthy nodes              34        32
              with good software            34        32
              free                          26        24
              shareable by grade            26        24
              away from those named         26        24
              in sets or nodes that fit     26        24

            The best place at each level
              level  place     room
              node   n2           8  too small
              leaf   leaf-2      16  too small
              pod    ams-yard    24  enough

            --- told beside it
            Job red/new-gang wants 24 GPUs in one leaf, but leaf-2, the best it may use, has room for 16.
              Ask for less, allow a wider level, or see what `defrag` would move.
            Refused: 1 refusal, and nothing was done.
            --- ends with 1
        "#]],
    );
    check(
        &desk,
        "place --tenant red --gpus 32 --product H100-80GB --explain",
        expect![[r#"
            What each constraint leaves of the GPUs (32 GPUs wanted)
                                         fleet  best pod
              in the fleet                  34        32
              under an allowed law          34        32
              in the named pod              34        32
              at such a site                34        32
              of that product               32        32
              on healthy nodes              32        32
              with good software            32        32
              free                          24        24  too few
              shareable by grade            24        24  too few
              away from those named         24        24  too few
              in sets or nodes that fit     24        24  too few

            The best place at each level
              level  place     room
              node   n2           8  too small
              leaf   leaf-2      16  too small
              pod    ams-yard    24  too small

            --- told beside it
            Job red/new-gang wants 32 GPUs in one pod, but ams-yard, the best it may use, has 24: the
              others are used, and 0 of them rest.
              Ask for less, delete a job in that pod, or add nodes.
            Refused: 1 refusal, and nothing was done.
            --- ends with 1
        "#]],
    );
}

#[test]
fn programs_get_the_same() {
    let desk = desk("data", QUIET);
    check(
        &desk,
        "place --tenant red --gpus 2 -o json",
        expect![[r#"
            {
              "job": "red/new-gang",
              "held": false,
              "place": {
                "site": "rtm",
                "pod": "rtm-quay",
                "product": "L40S-48GB",
                "gpus": 2,
                "pkey": 2,
                "leaves": [
                  {
                    "leaf": "leaf-9",
                    "nodes": 1
                  }
                ],
                "nodes": [
                  {
                    "node": "q1",
                    "modules": [
                      1,
                      2
                    ],
                    "interfaces": [
                      0,
                      1
                    ],
                    "numa": [
                      0
                    ]
                  }
                ]
              },
              "stops": []
            }
            --- ends with 0
        "#]],
    );
    check(
        &desk,
        "place --tenant red --gpus 64 -o yaml",
        expect![[r#"
            job: red/new-gang
            held: false
            stops: []
            refused:
            - code: beyond-pods
              problem: >-
                job red/new-gang wants 64 GPUs in one pod, but ams-yard, the largest it may
                use, has 32 GPUs in all
              remedy: divide the job, or build a larger pod
            --- ends with 1
        "#]],
    );
    let said = run(&desk, "place --tenant red --gpus 32 --explain -o json").ends(1).out;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["explained"]["constraints"].as_array().map(Vec::len), Some(11));
    assert_eq!(said["refused"][0]["code"], "no-room");
}

#[test]
fn a_job_is_shown_where_a_plan_would_put_it_and_where_it_is() {
    let desk = desk(
        "held",
        &format!("{QUIET}Job a: {{tenant: red, gpus: 4}}\nJob z: {{tenant: red, gpus: 4}}"),
    );
    check(
        &desk,
        "place --job red/a",
        expect![[r#"
            red/a would get 4 H100-80GB GPUs in pod ams-yard: 1 node below leaf-1.
              node  modules  interfaces  numa
              n1    1-4      0-3         0
              P_Key 0x0001
            --- ends with 0
        "#]],
    );
    check(
        &desk,
        "defrag --job red/z",
        expect![[r#"
            Nothing needs to move.
            red/z would get 4 H100-80GB GPUs in pod ams-yard: 1 node below leaf-1.
              node  modules  interfaces  numa
              n1    5-8      4-7         1
              P_Key 0x0003
            --- ends with 0
        "#]],
    );
    run(&desk, "apply --to sim").ends(0);
    check(
        &desk,
        "place --job red/train",
        expect![[r#"
            red/train has 8 H100-80GB GPUs in pod ams-yard: 1 node below leaf-1.
              node  modules  interfaces  numa
              n2    1-8      0-7         0-1
              P_Key 0x0002
            --- ends with 0
        "#]],
    );
}

#[test]
fn whom_a_gang_would_stop_is_named() {
    let desk = desk(
        "preempt",
        "
        Tenant red: {pools: [10.0.0.0/16]}
        Tenant red/lab: {}
        Tenant blue: {pools: [10.0.0.0/16]}
        Job idle: {tenant: red/lab, gpus: 16, product: H100-80GB, capacity: preemptible}
        Job spare: {tenant: blue, gpus: 16, product: H100-80GB, capacity: preemptible}
        ",
    );
    check(
        &desk,
        "place --tenant red --gpus 16",
        expect![[r#"
            --- told beside it
            Job red/new-gang wants 16 GPUs in one pod, but ams-yard, the best it may use, has 0: the
              others are used, and 0 of them rest.
              Ask for less, delete a job in that pod, or add nodes.
            Refused: 1 refusal, and nothing was done.
            --- ends with 1
        "#]],
    );
    check(
        &desk,
        "place --tenant red --gpus 16 --preempts own",
        expect![[r#"
            red/new-gang would get, after others were stopped, 16 H100-80GB GPUs in pod ams-yard: 2 nodes below leaf-2.
              node  modules  interfaces  numa
              n3    1-8      0-7         0-1
              n4    1-8      0-7         0-1
              P_Key 0x0003
            Stopped first
              job           gpus
              red/lab/idle    16  another tenant's: scrubbed before anybody gets them
            --- ends with 0
        "#]],
    );
    check(
        &desk,
        "place --tenant red --gpus 32 --preempts own",
        expect![[r#"
            --- told beside it
            Job red/new-gang wants 32 GPUs in one pod, but ams-yard, the best it may use, has 0: the
              others are used, and 0 of them rest.
              Ask for less, delete a job in that pod, or add nodes.
            Refused: 1 refusal, and nothing was done.
            --- ends with 1
        "#]],
    );
    check(
        &desk,
        "place --tenant red --gpus 32 --preempts others",
        expect![[r#"
            red/new-gang would get, after others were stopped, 32 H100-80GB GPUs in pod ams-yard: 4 nodes below 2 leaves.
              leaf    nodes
              leaf-1      2
              leaf-2      2
              node  modules  interfaces  numa
              n1    1-8      0-7         0-1
              n2    1-8      0-7         0-1
              n3    1-8      0-7         0-1
              n4    1-8      0-7         0-1
              P_Key 0x0003
            Stopped first
              job           gpus
              red/lab/idle    16  another tenant's: scrubbed before anybody gets them
              blue/spare      16  another tenant's: scrubbed before anybody gets them
            --- ends with 0
        "#]],
    );
}

#[test]
fn what_no_document_can_ask_for_is_refused_too() {
    let desk = desk("refused", QUIET);
    check(
        &desk,
        "place --tenant red --gpus 16385",
        expect![[r#"
        --- told beside it
        Job red/new-gang asks for 16385 GPUs, more than the 16384 of the largest gang.
          Divide the job into parts of at most 16384.
        Refused: 1 refusal, and nothing was done.
        --- ends with 1
    "#]],
    );
    check(
        &desk,
        "place --tenant red --gpus 1 --product H200-141GB",
        expect![[r#"
        --- told beside it
        Job red/new-gang wants GPUs of product H200-141GB, but the fleet has H100-80GB, L40S-48GB.
          Name one of these, or none.
        Refused: 1 refusal, and nothing was done.
        --- ends with 1
    "#]],
    );
    check(
        &desk,
        "place --tenant blue --slices 1x9g.90gb",
        expect![[r#"
        --- told beside it
        Job blue/new-gang wants slices of profile 9g.90gb, but where it may run GPUs can be cut into
          1g.10gb, 1g.10gb+me, 1g.20gb, 2g.20gb, 3g.40gb, 4g.40gb, 7g.80gb.
          Name one of these, or none.
        Refused: 1 refusal, and nothing was done.
        --- ends with 1
    "#]],
    );
}

#[test]
fn what_does_not_exist_is_refused_and_what_makes_no_sense_is_wrong_usage() {
    let desk = desk("wrong", QUIET);
    check(
        &desk,
        "place --job red/tune",
        expect![[r#"
        --- told beside it
        No document asks for job red/tune.
          Name a job of the documents, or describe a gang with `--tenant` and `--gpus`.
        Refused: 1 refusal, and nothing was done.
        --- ends with 1
    "#]],
    );
    check(
        &desk,
        "place --tenant rad --gpus 1",
        expect![[r#"
        --- told beside it
        No document describes tenant rad.
          `bulkhead capacity FILES` lists them.
        Refused: 1 refusal, and nothing was done.
        --- ends with 1
    "#]],
    );
    for command in [
        "place",
        "place --tenant red",
        "place --gpus 1",
        "place --tenant red --gpus 0",
        "place --tenant red --gpus 1 --slices 1x1g.10gb",
        "place --tenant red --slices 1g.10gb",
        "place --tenant red --gpus 1 --within rack",
        "place --job red/train --gpus 1",
        "place --job red/train --within leaf",
        "defrag --tenant red",
    ] {
        run(&desk, command).ends(64);
    }
}
