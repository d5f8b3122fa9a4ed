//! Partition keys and memory channels: leased from below, and refused when all are held.

use std::sync::Arc;

use expect_test::{Expect, expect};
use model::{Fleet, NicRef, NodeId};

use super::world::fleet;
use crate::place::{FabricKeys, Ground};

#[test]
fn the_lowest_key_that_nobody_holds_is_given() {
    check("", &[(1, None), (2, None), (4, None)], expect!["pkey 3"]);
}

#[test]
fn a_channel_is_free_in_every_domain_of_the_job() {
    check("rack", &[(1, Some(1)), (2, Some(2))], expect!["pkey 3, channel 3"]);
}

#[test]
fn nobody_gets_channel_zero_or_the_default_partition() {
    let all: Vec<_> = (1..=0x7ffe).map(|pkey| (pkey, None)).collect();
    check(
        "",
        &all,
        expect!["pkeys-exhausted: job acme/a finds no partition key: all 32766 are held or rest"],
    );
    let all: Vec<_> = (1..=2047).map(|key| (key, Some(key))).collect();
    check(
        "rack",
        &all,
        expect![
            "channels-exhausted: job acme/a finds no memory channel: all 2047 of its NVLink domains are held or rest"
        ],
    );
}

#[test]
fn a_channel_is_free_in_all_of_a_domain_that_reaches_beyond_one_leaf() {
    let mut fleet = fleet();
    for node in &mut fleet.nodes {
        node.nvlink_domain = "rack".parse().unwrap();
    }
    let leaf = |node: usize| fleet.nodes[node].uplinks[0].leaf;
    let other = (0..fleet.nodes.len()).find(|&node| leaf(node) != leaf(0)).unwrap();
    let at = |node: usize| [NicRef { node: NodeId(node as u32), nic: 0 }];
    let mut ground = Ground::new(&Arc::new(fleet), &std::collections::BTreeMap::new());
    let job = "acme/a".parse().unwrap();
    let first = ground.fresh_keys_for(&job, &at(0)).unwrap();
    ground.take_keys_for(&at(0), first);
    assert_eq!(first.channel, Some(1));
    assert_eq!(ground.fresh_keys_for(&job, &at(other)).unwrap().channel, Some(2));
}

/// What a job on the first node gets after others got these, where its NVLink domain is called so.
fn check(domain: &str, held: &[(u16, Option<u16>)], expected: Expect) {
    let mut fleet: Fleet = fleet();
    if !domain.is_empty() {
        for node in &mut fleet.nodes {
            node.nvlink_domain = domain.parse().unwrap();
        }
    }
    let mut ground = Ground::new(&Arc::new(fleet), &std::collections::BTreeMap::new());
    let nics = [NicRef { node: NodeId(0), nic: 0 }];
    for &(pkey, channel) in held {
        ground.take_keys_for(&nics, FabricKeys { pkey: Some(pkey), channel });
    }
    let told = match ground.fresh_keys_for(&"acme/a".parse().unwrap(), &nics) {
        Ok(FabricKeys { pkey, channel }) => {
            let pkey = pkey.map(|pkey| format!("pkey {pkey}")).unwrap_or_default();
            pkey + &channel.map(|channel| format!(", channel {channel}")).unwrap_or_default()
        }
        Err(refusal) => format!("{}: {refusal}", refusal.code()),
    };
    expected.assert_eq(&told);
}
