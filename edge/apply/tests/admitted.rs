//! What a node takes from a message or from its own disk, and what it refuses before anything is done.

#![allow(clippy::unwrap_used, reason = "an offer that cannot be made ends the test")]

use apply::{Admitted, NotAdmitted, Offer, Order};
use expect_test::{Expect, expect};
use model::{DeviceId, Dialect, Digest, Epoch, Generation, Name};

const FRR: &str = "frr defaults datacenter
no zebra nexthop kernel enable
interface lo
 ip address 10.255.0.3/32
exit
router bgp 4200000003
 bgp bestpath as-path multipath-relax
 address-family ipv4 unicast
  network 10.255.0.3/32
 exit-address-family
exit
vrf t17
exit-vrf
";
const LINUX: &str = "vtep 10.255.0.3\nvrf t17\n";

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn order(epoch: u64, generation: u64, linux: &str) -> Order {
    let texts = vec![(Dialect::Frr, FRR.into()), (Dialect::Linux, linux.into())];
    let leaf = (DeviceId(0), name("leaf-1"));
    Order::danger_unproved(leaf, Epoch(epoch), Generation(generation), texts)
}

fn offer(epoch: u64, generation: u64, linux: &str) -> Offer {
    Offer::of(&order(epoch, generation, linux), |_| true)
}

fn held() -> Admitted {
    offer(2, 7, LINUX).admit(&name("leaf-1"), None).unwrap()
}

/// What leaf-1, which was sent generation 7 of epoch 2, says to this.
#[track_caller]
fn check(offer: Offer, said: Expect) {
    let answer = match offer.admit(&name("leaf-1"), Some(&held())) {
        Ok(admitted) => format!("takes {} of {}", admitted.generation(), admitted.epoch()),
        Err(why) => why.to_string(),
    };
    said.assert_eq(&answer);
}

#[test]
fn what_comes_in_its_turn_is_taken() {
    check(offer(2, 7, LINUX), expect!["takes 7 of 2"]);
    check(offer(2, 8, "vtep 10.255.0.4\n"), expect!["takes 8 of 2"]);
    check(offer(3, 1, "vtep 10.255.0.4\n"), expect!["takes 1 of 3"]);
}

#[test]
fn an_older_number_comes_late() {
    check(offer(2, 6, LINUX), expect!["it comes late: the node was sent generation 7 of epoch 2"]);
    check(offer(1, 9, LINUX), expect!["it comes late: the node was sent generation 7 of epoch 2"]);
}

#[test]
fn one_number_means_one_text() {
    check(
        offer(2, 7, "vtep 10.255.0.4\n"),
        expect!["it knows another text as generation 7: send this as a later one"],
    );
}

#[test]
fn what_is_for_another_device_is_not_taken() {
    let mut other = offer(2, 8, LINUX);
    other.device = name("leaf-2");
    check(
        other,
        expect!["this is for leaf-2, and the node is leaf-1: correct the agent's address"],
    );
}

#[test]
fn a_text_that_was_changed_on_its_way_is_not_what_was_proved() {
    let mut changed = offer(2, 8, "vtep 10.255.0.4\n");
    changed.parts[1].text = Some("vtep 10.255.0.5\n".into());
    check(
        changed.clone(),
        expect!["linux whole is not what was proved: its digest is another one, so send it again"],
    );
    changed.parts[1].digest = Digest::of(b"vtep 10.255.0.5\n");
    check(
        changed,
        expect![
            "all of it together is not what was proved: its digest is another one, so send it again"
        ],
    );
}

#[test]
fn parts_that_are_gone_doubled_or_in_another_order_are_not_what_was_proved() {
    let whole = offer(2, 8, "vtep 10.255.0.4\n");
    let mut gone = whole.clone();
    gone.parts.pop();
    let mut doubled = whole.clone();
    doubled.parts.push(whole.parts[1].clone());
    let mut parted = whole.clone();
    parted.parts.push(whole.parts[0].clone());
    for wrong in [gone, doubled, parted] {
        let refused = wrong.admit(&name("leaf-1"), None).unwrap_err();
        assert_eq!(refused, NotAdmitted::Damaged("all of it together".into()));
    }
}

#[test]
fn a_line_that_nobody_understands_is_not_taken() {
    check(
        offer(2, 8, "vtep 10.255.0.4\nwormhole to leaf-2\n"),
        expect![[r#"
            line 2 of linux whole is not understood here (no line of this dialect is written so): `wormhole to leaf-2`; bring the agent to the controller's release"#]],
    );
}

#[test]
fn only_what_a_node_lacks_has_to_come_along() {
    let order = order(2, 8, "vtep 10.255.0.4\n");
    let named = Offer::of(&order, |_| false);
    let lacks = match named.admit(&name("leaf-1"), Some(&held())) {
        Err(NotAdmitted::Lacks(parts)) => parts,
        other => panic!("{other:?}"),
    };
    assert_eq!(lacks, [Digest::of(b"vtep 10.255.0.4\n")]);
    let offer = Offer::of(&order, |part| lacks.contains(&part));
    assert_eq!(offer.parts.iter().filter(|part| part.text.is_some()).count(), 1);
    let admitted = offer.admit(&name("leaf-1"), Some(&held())).unwrap();
    assert_eq!(admitted.text(Dialect::Frr), FRR);
    assert_eq!(admitted.text(Dialect::Linux), "vtep 10.255.0.4\n");
    assert_eq!(admitted.digest(), order.digest());
}

#[test]
fn what_a_node_wrote_down_is_checked_when_it_is_read_again() {
    let held = held();
    let written = serde_json::to_string(&held).unwrap();
    assert_eq!(serde_json::from_str::<Admitted>(&written).unwrap(), held);
    let changed = written.replace("10.255.0.3", "10.255.0.4");
    assert_ne!(changed, written);
    let refused = serde_json::from_str::<Admitted>(&changed).unwrap_err().to_string();
    assert!(refused.contains("is not what was proved"), "{refused}");
    let strange = written.replace("vtep 10.255.0.3", "wormhole to leaf-2");
    let refused = serde_json::from_str::<Admitted>(&strange).unwrap_err().to_string();
    assert!(refused.contains("is not understood here"), "{refused}");
}
