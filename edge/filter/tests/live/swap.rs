//! One policy after the other while packets come, and none of them judged by parts of both.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use aya::programs::{TestRun as _, TestRunOptions, Xdp};
use aya_obj::programs::XdpAttachType;

use crate::lab::{Enough, HEAD, Host, Namespace, VTEP, alone, endpoint, mac, now_ns, times, until};
use crate::mark::{self, Seen};
use crate::socket::Socket;

const SWAPS: usize = 1_000;
const PACKETS: usize = 1_000_000;

/// Two policies without a job in common. Every record differs: the peer has another tag and is
/// behind another host, the tenant has another VNI, and the two of 10.1.0.20 and 10.1.0.21 have
/// changed places.
fn policy(which: Which) -> String {
    let (tag, other, vtep, vni) = match which {
        Which::X => (1001, 1002, 1, 60001),
        Which::Y => (1002, 1001, 2, 60002),
    };
    format!(
        "{HEAD}space t17 vni {vni}\n{}\
         peers t17 10.1.0.10-10.1.0.10 vtep 10.255.1.{vtep} tag {tag}\n\
         peers t17 10.1.0.20-10.1.0.20 vtep 10.255.1.3 tag {tag}\n\
         peers t17 10.1.0.21-10.1.0.21 vtep 10.255.0.3 tag {other}\n",
        endpoint(2, tag)
    )
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Which {
    X,
    Y,
}

impl Which {
    /// They take turns, and X is the first.
    fn after(swaps: u64) -> Self {
        if swaps.is_multiple_of(2) { Self::X } else { Self::Y }
    }
}

/// Frames and the one policy under which they pass, if there is one.
fn kinds() -> Vec<(Option<Which>, Vec<u8>)> {
    let frame = |from, to, vtep: u8, vni, tag| {
        let inner = mark::packet(from, to).ethernet(mac(from), mac(to));
        inner.vxlan([10, 255, 1, vtep], VTEP, vni, tag).into_bytes()
    };
    vec![
        (Some(Which::X), frame(10, 2, 1, 50017, 1001)),
        (Some(Which::Y), frame(10, 2, 2, 50017, 1002)),
        (Some(Which::X), frame(10, 2, 1, 60001, 1001)),
        (Some(Which::Y), frame(10, 2, 2, 60002, 1002)),
        // The tag of one policy with the tunnel endpoint or the VNI of the other.
        (None, frame(10, 2, 2, 50017, 1001)),
        (None, frame(10, 2, 1, 50017, 1002)),
        (None, frame(10, 2, 1, 60002, 1001)),
        (None, frame(10, 2, 2, 60001, 1002)),
        // The source of one policy with the destination of the other.
        (None, frame(20, 21, 3, 50017, 1001)),
        (None, frame(20, 21, 3, 50017, 1002)),
    ]
}

/// Hosts that are flooded and changed at the same time. A swap waits until the kernel has left the
/// policy before, and several can wait together.
const HOSTS: usize = 4;

#[test]
fn a_million_packets_meet_a_thousand_swaps_and_none_is_judged_by_a_mixture() {
    let Some(_alone) = alone() else { return };
    let hosts: Vec<Host> = (0..HOSTS).map(|_| host()).collect();
    let judged: u64 = thread::scope(|scope| {
        let floods: Vec<_> =
            hosts.into_iter().map(|host| scope.spawn(|| flooded_and_changed(host))).collect();
        floods.into_iter().map(|flood| flood.join().unwrap()).sum()
    });
    eprintln!("{judged} packets during {} swaps", times(SWAPS));
}

/// Changes one host's policies under a flood; how many packets were judged.
fn flooded_and_changed(mut host: Host) -> u64 {
    let stage = Stage(AtomicU64::new(0));
    host.put(&policy(Which::X));
    let (judged, enough) = (AtomicU64::new(0), AtomicBool::new(false));
    let place = host.kernel.place().to_owned();
    let passed = thread::scope(|scope| {
        let flood = scope.spawn(|| {
            let program = Xdp::from_pin(place.join("fabric"), XdpAttachType::Interface).unwrap();
            flood(&program, &stage, &judged, &enough)
        });
        let _enough = Enough(&enough);
        let (swaps, packets) = (times(SWAPS) / HOSTS, times(PACKETS) / HOSTS);
        let few = |swap| swap <= swaps as u64 || judged.load(Ordering::SeqCst) < packets as u64;
        for swap in (1..).take_while(|swap| few(*swap) && !flood.is_finished()) {
            stage.swap(&mut host, swap);
            // Some packets meet the new policy alone before the next one comes.
            let judged_before = judged.load(Ordering::SeqCst);
            until("the flood has ended", || {
                flood.is_finished() || judged.load(Ordering::SeqCst) > judged_before + 20
            });
        }
        enough.store(true, Ordering::SeqCst);
        flood.join().unwrap()
    });
    assert!(passed.iter().all(|passed| *passed > 0), "a policy let nothing pass: {passed:?}");
    judged.load(Ordering::SeqCst)
}

/// What is in force: the number of swaps so far, and whether one is under way.
struct Stage(AtomicU64);

impl Stage {
    const UNDER_WAY: u64 = 1 << 62;

    fn swap(&self, host: &mut Host, swap: u64) {
        self.0.fetch_or(Self::UNDER_WAY, Ordering::SeqCst);
        host.put(&policy(Which::after(swap)));
        self.0.store(swap, Ordering::SeqCst);
    }

    /// The policy that alone was in force from one reading to the next, if there was one.
    fn settled(before: u64, after: u64) -> Option<Which> {
        if before != after || before & Self::UNDER_WAY != 0 {
            return None;
        }
        Some(Which::after(before))
    }
}

/// Judges frames of all kinds, one after the other, until the end; how many passed under each
/// policy.
fn flood(program: &Xdp, stage: &Stage, judged: &AtomicU64, enough: &AtomicBool) -> [u64; 2] {
    let kinds = kinds();
    let mut passed = [0; 2];
    for (allowed, frame) in kinds.iter().cycle() {
        let before = stage.0.load(Ordering::SeqCst);
        let options = TestRunOptions { data_in: Some(frame), ..TestRunOptions::default() };
        let passes = program.test_run(options).unwrap().return_value == XDP_PASS;
        let after = stage.0.load(Ordering::SeqCst);
        assert!(!passes || allowed.is_some(), "a mixture let pass {frame:02x?}");
        if let Some(settled) = Stage::settled(before, after) {
            let right = *allowed == Some(settled);
            assert_eq!(passes, right, "under {settled:?}, after its call returned: {frame:02x?}");
            passed[settled as usize] += u64::from(passes);
        }
        judged.fetch_add(1, Ordering::SeqCst);
        if enough.load(Ordering::SeqCst) {
            break;
        }
    }
    passed
}

const XDP_PASS: u32 = 2;

#[test]
fn on_a_real_uplink_no_frame_of_a_revoked_job_passes_after_the_call_returned() {
    let Some(_alone) = alone() else { return };
    let mut host = host();
    let mut calls = Vec::new();
    let [enough, sent] = [AtomicBool::new(false), AtomicBool::new(false)];
    let (inside, fabric) = (host.inside.clone(), host.fabric.clone());
    let seen = thread::scope(|scope| {
        let seen = scope.spawn(|| mark::collect(&inside, "up0", &enough));
        let sender = scope.spawn(|| send_all(&fabric, &sent));
        let (_sent, _enough) = (Enough(&sent), Enough(&enough));
        for swap in 0..times(200) as u64 {
            let (begin_ns, which) = (now_ns(), Which::after(swap));
            host.put(&policy(which));
            calls.push((begin_ns, now_ns(), which));
            thread::sleep(Duration::from_millis(2));
        }
        sent.store(true, Ordering::SeqCst);
        sender.join().unwrap();
        enough.store(true, Ordering::SeqCst);
        seen.join().unwrap()
    });
    let kinds = kinds();
    let mut passed = [0; 2];
    for frame in &seen {
        let allowed = kinds[frame.kind as usize].0.expect("a mixture let a frame pass");
        // A frame that was seen after the next call began may owe its way to that one.
        if let Some(settled) = calls.windows(2).find_map(|pair| settled(pair, frame)) {
            assert_eq!(settled, allowed, "{frame:?} passed though its job was gone");
            passed[settled as usize] += 1;
        }
    }
    eprintln!("{} frames, {passed:?} between two of {} swaps", seen.len(), calls.len());
    assert!(passed.iter().all(|passed| *passed > 0), "no frame can tell: {passed:?}");
}

/// The policy under which the frame made its whole way: between the return of the call that put it
/// in force, and the beginning of the next call.
fn settled(pair: &[(u64, u64, Which)], frame: &Seen) -> Option<Which> {
    let [(_, returned_ns, which), (next_ns, ..)] = pair else { return None };
    (frame.sent_ns > *returned_ns && frame.seen_ns < *next_ns).then_some(*which)
}

fn send_all(fabric: &Namespace, enough: &AtomicBool) {
    let socket = Socket::on(fabric, "fab0");
    let mut kinds = kinds();
    while !enough.load(Ordering::SeqCst) {
        for (kind, (_, frame)) in kinds.iter_mut().enumerate() {
            mark::send(&socket, frame, kind as u64);
        }
    }
}

fn host() -> Host {
    let mut host = Host::open();
    host.workload(2);
    host
}
