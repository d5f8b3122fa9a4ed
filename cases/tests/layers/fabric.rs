//! Fabrics: ports that nobody has any more, and a channel that two jobs open.

use expect_test::{Expect, expect};
use intent::Source;
use plan::Ledger;

use crate::hall::{check, document, found};

#[test]
fn a_partition_key_of_ports_that_nobody_owns_is_left_over() {
    check(
        &["
             subnet-ams-hall pkey
              blue.tune=0x0001 : 0x020100fffe000004=full, 0x020100fffe000006=full ;
             +gone.job=0x0123 : 0x020100fffe000005=full, 0x020100fffe000007=limited ;
            "],
        expect![[r#"
            leftover-key: subnet-ams-hall: InfiniBand partition 0x0123 joins ports that nobody owns
              subnet-ams-hall pkey:3  gone.job=0x0123 : 0x020100fffe000005=full, 0x020100fffe000007=limited ;
        "#]],
    );
}

#[test]
fn a_key_that_no_fabric_has_is_found_in_the_only_line_of_a_job() {
    check(
        &["
             subnet-ams-hall pkey
             -green.lab.try=0x0003 : 0x020100fffe000010=full, 0x020100fffe000011=full ;
             +green.lab.try=0x8000 : 0x020100fffe000010=full, 0x020100fffe000011=full ;
            "],
        expect![[r#"
            severed: a1: pkey does not give green/lab/try its interfaces 0, 1
            unknown-line: subnet-ams-hall: unknown line `green.lab.try=0x8000 : 0x020100fffe000010=full, 0x020100fffe000011=full ;`: a partition key is written 0x0011 and is from 0x0001 to 0x7fff
              subnet-ams-hall pkey:4  green.lab.try=0x8000 : 0x020100fffe000010=full, 0x020100fffe000011=full ;
        "#]],
    );
}

/// Where nobody gives channels, the files that jobs may open are all that is known of them.
#[test]
fn two_jobs_that_open_one_channel_meet_there_though_no_layer_gives_channels() {
    opens_of_two(
        "channel1",
        expect![[r#"
            breach: t1 (violet/one) meets t2 (violet/two) in NVLink memory channel 1 of ams-hall-nvl: data can cross
              t1 devices:11  open violet/one /dev/nvidia-caps-imex-channels/channel1
              t2 devices:11  open violet/two /dev/nvidia-caps-imex-channels/channel1
        "#]],
    );
}

/// Two jobs of violet, each on a tray of one rack; the second one opens this file instead.
fn opens_of_two(file: &str, expected: Expect) {
    let fleet = document("fleet.yaml").replace("imex, ", "");
    let work = document("work.yaml");
    let tenants: Vec<&str> =
        work.split("---\n").filter(|text| text.contains("kind: Tenant")).collect();
    let mut work = tenants.join("---\n");
    for (name, node) in [("one", "t1"), ("two", "t2")] {
        work += &format!(
            "---\napiVersion: bulkhead.dev/v1\nkind: Job\nmetadata: {{name: {name}}}\n\
             spec: {{tenant: violet, endpoints: [{node}/0, {node}/1, {node}/2, {node}/3]}}\n"
        );
    }
    let sources =
        [Source { file: "fleet.yaml", text: &fleet }, Source { file: "work.yaml", text: &work }];
    let plan = plan::next(&intent::load(&sources).unwrap(), &Ledger::default()).unwrap().plan;
    let mut artifacts = render::all(&plan);
    let mut changed = 0;
    for part in artifacts.iter_mut().flat_map(|artifact| &mut artifact.parts) {
        changed += part.text.matches("channel2\n").count();
        part.text = part.text.replace("channel2\n", &format!("{file}\n"));
    }
    assert_eq!(changed, 1, "the second job opens channel 2");
    expected.assert_eq(&found(&plan.fleet, &plan.owners(), &artifacts));
}
