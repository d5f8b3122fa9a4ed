//! Whatever the bytes, there is a verdict and a line.

use alloc::vec::Vec;
use core::fmt::Write;

use proptest::prelude::*;

use super::world::*;
use crate::forge::{ACK, ForgedArp, ForgedFrame, ForgedPacket, SYN};
use crate::{Bth, Hook, Mac, Reason, flow};

/// Every kind of frame there is, sound as it is.
fn sound() -> Vec<ForgedFrame> {
    let bth = Bth { opcode: 4, version: 0, pkey: 0xffff, destination_qp: 17 };
    let (sender_mac, target_mac) = (mac(PEER), Mac([0; 6]));
    let arp = ForgedArp { reply: false, sender_mac, sender: PEER, target_mac, target: HERE };
    let packets = [
        ForgedPacket::udp(PEER, HERE, 1, 80, 16),
        ForgedPacket::tcp(PEER, HERE, 1, 80, SYN, 16),
        ForgedPacket::tcp(PEER, HERE, 1, 80, ACK, 64).fragments(32).1,
        ForgedPacket::roce(PEER, HERE, 49152, bth, 32),
        ForgedPacket::echo(PEER, HERE, 8),
        ForgedPacket::udp(six(PEER), six(HERE), 1, 80, 16),
        ForgedPacket::tcp(six(PEER), six(HERE), 1, 80, ACK, 16),
        ForgedPacket::echo(six(PEER), six(HERE), 8),
        ForgedPacket::solicit(six(PEER), six(HERE), Some(mac(PEER))),
        ForgedPacket::advertise(six(PEER), six(HERE), six(PEER), Some(mac(PEER))),
    ];
    let inner = packets.map(|packet| between(PEER, HERE, packet));
    let inner = inner.into_iter().chain([ForgedFrame::arp(arp, Mac::BROADCAST)]);
    let tunnels = inner.clone().map(tunnelled);
    let over_ipv6 = inner.clone().map(|frame| {
        frame.vxlan(crate::ipv6_of(0, FAR), crate::ipv6_of(0, OWN), VNI, 1001).vlan(0x8100, 7)
    });
    inner.clone().chain(tunnels).chain(over_ipv6).collect()
}

fn sight() -> impl Strategy<Value = Sight> {
    let frames = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        prop::sample::select(sound()).prop_map(ForgedFrame::into_bytes),
    ];
    let hook = prop::sample::select(Hook::ALL.to_vec());
    let mark = prop_oneof![Just(0), Just(1001), any::<u16>()];
    (hook, 4_u32..10, mark, prop::bool::weighted(0.05), frames).prop_map(
        |(hook, interface, mark, vlan_beside, frame)| {
            let policy = Some(policy());
            Sight { policy, hook, interface, mark, vlan_beside, frame }
        },
    )
}

/// Changes of single bytes: where, and into what. Extremes are likelier than chance has them.
fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    let byte = prop_oneof![any::<u8>(), Just(0), Just(0xff), Just(0x80)];
    prop::collection::vec((any::<prop::sample::Index>(), byte), 0..6)
}

fn change(bytes: &mut [u8], changes: &[(prop::sample::Index, u8)]) {
    for (at, byte) in changes {
        if !bytes.is_empty() {
            bytes[at.index(bytes.len())] = *byte;
        }
    }
}

/// A verdict that keeps to what every verdict promises.
fn check(sight: &Sight) {
    let verdict = sight.judge();
    assert_ne!(verdict.reason, Reason::Rate);
    let ends = (verdict.source, verdict.destination);
    match verdict.reason {
        Reason::Job => assert!(ends.0 == ends.1 && ends.0 != 0, "{verdict:?}"),
        Reason::Permit => assert_ne!(ends.0, ends.1, "{verdict:?}"),
        Reason::Underlay | Reason::Closed | Reason::Port => assert_eq!(ends, (0, 0), "{verdict:?}"),
        _ => {}
    }
    let mut line = alloc::string::String::new();
    write!(line, "{}", flow(sight.hook, &sight.frame)).unwrap();
    assert!(!line.is_empty() && !line.ends_with(' '), "{line:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn changed_and_shortened_frames_are_judged(
        mut sight in sight(), changes in changes(), cut in prop::option::of(0_usize..150),
    ) {
        change(&mut sight.frame, &changes);
        sight.frame.truncate(cut.unwrap_or(usize::MAX));
        check(&sight);
    }

    #[test]
    fn changed_and_shortened_policies_are_obeyed(
        mut sight in sight(), changes in changes(), cut in prop::option::of(0_usize..1600),
    ) {
        let mut policy = policy();
        // Most of what matters is in front.
        let (front, _) = policy.split_at_mut(RED_AT);
        change(front, &changes);
        policy.truncate(cut.unwrap_or(usize::MAX));
        sight.policy = Some(policy);
        check(&sight);
    }

    #[test]
    fn random_policies_are_obeyed(
        mut sight in sight(), noise in prop::collection::vec(any::<u8>(), 0..1024),
    ) {
        let magic = crate::MAGIC.to_le_bytes();
        sight.policy = Some([&magic[..], &noise].concat());
        check(&sight);
        sight.policy = Some(noise);
        check(&sight);
    }
}

#[test]
fn every_sound_frame_passes_where_it_belongs_and_no_shortened_one_does() {
    for frame in sound() {
        let is_tunnel = frame[12..14] == [0x81, 0] || frame.get(36..38) == Some(&[0x12, 0xb5][..]);
        let sight = |frame| match is_tunnel {
            true => Sight::fabric(frame),
            false => Sight::local(1001, frame),
        };
        let whole = sight(frame.clone());
        assert!(whole.judge().reason.passes(), "{} {}", whole.verdict(), whole.line());
        for len in 0..frame.len() {
            let short = sight(frame.clone().cut(len));
            assert!(!short.judge().reason.passes(), "{len}: {} {}", short.verdict(), short.line());
        }
    }
}
