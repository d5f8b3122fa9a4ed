//! The program in the kernel answers like the reference, whatever it is asked.
//!
//! `FRAMES=100000000 cargo test --release -p filter --test agree` asks more.
#![allow(clippy::unwrap_used, reason = "a world that cannot be built is a failed test")]

mod chance;
mod world;

use std::path::Path;

use chance::Chance;
use filter::{TrialFilter, TrialVerdict, Ways};
use wire::{Arrival, Hook, Reason, Tables, Verdict};

/// How many frames are asked about unless `FRAMES` says otherwise.
const FRAMES: u64 = 1_000_000;
/// A block larger than the world's policy, and smaller than what its offsets could say.
const BLOCK: u32 = 1 << 18;

#[test]
fn the_kernel_answers_like_the_reference() {
    let Some(mut trial) = trial() else { return };
    let bytes = held(&mut trial, world::TEXT);
    let frames = world::frames();
    let mut chance = Chance::new(seed());
    let mut met = [0_u64; 256];
    let mut silent = 0;
    for number in 0..wanted() {
        let (hook, original) = chance.one_of(&frames);
        let frame = chance.mutated(original.as_slice());
        let hook = if chance.below(50) == 0 { *chance.one_of(&Hook::ALL) } else { *hook };
        let arrival = Arrival {
            hook,
            interface: chance.interface(),
            mark: chance.tag(),
            vlan_beside: false,
            frame: &frame,
        };
        let expected = wire::judge(Some(Tables::new(&bytes)), &arrival);
        match trial.judge(&arrival).unwrap() {
            TrialVerdict::Nothing => silent += 1,
            said => {
                assert_eq!(said, TrialVerdict::Verdict(expected), "{}", shown(number, &arrival));
                met[usize::from(expected.reason.code())] += 1;
            }
        }
    }
    // Frames below 14 bytes are no frames to the kernel; if it were silent on more, this test
    // would compare nothing.
    assert!(silent < wanted() / 20, "the kernel said nothing of {silent} frames");
    let never = Reason::ALL.into_iter().filter(|reason| met[usize::from(reason.code())] == 0);
    let never: Vec<_> = never.filter(|reason| !UNMET.contains(reason)).collect();
    assert!(never.is_empty(), "no frame met {never:?}");
}

/// No frame meets these here: the policy is open, sound and without rates.
const UNMET: [Reason; 3] = [Reason::Closed, Reason::Table, Reason::Rate];

#[test]
fn a_tunnel_that_claims_to_end_earlier_is_judged_alike() {
    let Some(mut trial) = trial() else { return };
    let bytes = held(&mut trial, world::TEXT);
    let mut claims = 0;
    for (hook, mut frame) in world::frames() {
        // Frames that pass as they are, in VXLAN over IPv4.
        let passes = wire::judge(Some(Tables::new(&bytes)), &from_fabric(&frame)).reason.passes();
        if hook != Hook::Fabric || !passes || frame[12..14] != [8, 0] || frame[36..38] != PORT {
            continue;
        }
        let honest = u16::from_be_bytes([frame[16], frame[17]]);
        for claim in 20..=honest {
            frame[16..18].copy_from_slice(&claim.to_be_bytes());
            frame[38..40].copy_from_slice(&(claim - 20).to_be_bytes());
            let arrival = from_fabric(&frame);
            let expected = wire::judge(Some(Tables::new(&bytes)), &arrival);
            let said = trial.judge(&arrival).unwrap();
            assert_eq!(said, TrialVerdict::Verdict(expected), "{}", shown(claims, &arrival));
            claims += 1;
        }
    }
    assert!(claims > 1000, "only {claims} frames were asked about");
}

/// The port of VXLAN.
const PORT: [u8; 2] = 4789_u16.to_be_bytes();

fn from_fabric(frame: &[u8]) -> Arrival<'_> {
    Arrival { hook: Hook::Fabric, interface: 0, mark: 0, vlan_beside: false, frame }
}

#[test]
fn a_policy_that_contradicts_itself_is_judged_alike() {
    let Some(mut trial) = trial() else { return };
    let sound = held(&mut trial, world::TEXT);
    let frames = world::frames();
    let mut chance = Chance::new(seed());
    let used = Tables::new(&sound).used().unwrap() as usize;
    let mut tables = 0;
    for _ in 0..(wanted() / 20_000).max(200) {
        let mut broken = sound.clone();
        for _ in 0..=chance.below(4) {
            let at =
                if chance.below(2) == 0 { chance.below(128) } else { chance.below(used as u32) };
            broken[at as usize] = chance.byte();
        }
        trial.put_bytes(&broken).unwrap();
        for (hook, frame) in &frames {
            let (interface, mark) = (chance.interface(), chance.tag());
            let arrival = Arrival { hook: *hook, interface, mark, vlan_beside: false, frame };
            let expected = wire::judge(Some(Tables::new(&broken)), &arrival);
            assert_eq!(
                trial.judge(&arrival).unwrap(),
                TrialVerdict::Verdict(expected),
                "{}",
                shown(0, &arrival)
            );
            tables += u32::from(expected.reason == Reason::Table);
        }
    }
    assert!(tables > 0, "no policy was broken enough to be noticed");
}

#[test]
fn without_a_policy_only_the_underlay_passes() {
    let Some(trial) = trial() else { return };
    trial.close().unwrap();
    for (hook, frame) in world::frames() {
        let arrival = Arrival { hook, interface: 2, mark: 0, vlan_beside: false, frame: &frame };
        let expected = wire::judge(None, &arrival);
        assert_eq!(trial.judge(&arrival).unwrap(), TrialVerdict::Verdict(expected));
        assert!(matches!(expected.reason, Reason::Underlay) || !expected.reason.passes());
        let Verdict { source, destination, .. } = expected;
        assert_eq!((source, destination), (0, 0));
    }
}

#[test]
fn ordinary_frames_go_the_short_way_and_unusual_ones_through_the_rule() {
    let Some(mut ways) = loaded(Ways::new(Path::new("/sys/fs/bpf"), BLOCK)) else { return };
    // The kernel lends frames of no device the loopback, so that swp2 is there.
    let interface = |port: &model::Port| world::interface(port).map(|number| number - 1);
    let mut bytes = ways.put(world::TEXT, &interface).unwrap().bytes;
    bytes.resize(BLOCK as usize, 0);
    for (number, (hook, mark, frame)) in world::ordinary().into_iter().enumerate() {
        let ordinary = Arrival { hook, interface: 1, mark, vlan_beside: false, frame: &frame };
        let shown = shown(number as u64, &ordinary);
        assert!(wire::judge(Some(Tables::new(&bytes)), &ordinary).reason.passes(), "{shown}");
        assert_eq!(ways.asks_rule(&ordinary).unwrap(), Some(false), "{shown}");
        // Without the rule's own way, the look at the other one would prove nothing.
        let unusual = [&frame[..12], &[0x81, 0, 0, 7], &frame[12..]].concat();
        let unusual = Arrival { frame: &unusual, ..ordinary };
        assert_eq!(ways.asks_rule(&unusual).unwrap(), Some(true), "with a VLAN tag, {shown}");
    }
}

#[test]
fn a_record_without_a_tag_lets_nobody_pass() {
    let Some(mut trial) = trial() else { return };
    let sound = held(&mut trial, world::TEXT);
    let mut frames: Vec<_> =
        world::frames().into_iter().map(|(hook, frame)| (hook, 0, frame)).collect();
    frames.extend(world::ordinary());
    frames.extend(frames.clone().iter().filter_map(world::untagged));
    let passed = |bytes: &[u8], trial: &mut TrialFilter| {
        trial.put_bytes(bytes).unwrap();
        let mut passed = 0;
        for (number, (hook, mark, frame)) in frames.iter().enumerate() {
            let arrival =
                Arrival { hook: *hook, interface: 2, mark: *mark, vlan_beside: false, frame };
            let expected = wire::judge(Some(Tables::new(bytes)), &arrival);
            let said = trial.judge(&arrival).unwrap();
            assert_eq!(said, TrialVerdict::Verdict(expected), "{}", shown(number as u64, &arrival));
            // Who asks for neighbours out of a port is the port's to say, and the gateway asks
            // without a mark: neither needs a record.
            let is_asked_here = *hook == Hook::Workload || (*hook == Hook::Local && *mark == 0);
            let of_nobody = match expected.reason {
                Reason::Neighbour => is_asked_here,
                reason => reason == Reason::Underlay,
            };
            passed += u32::from(expected.reason.passes() && !of_nobody);
        }
        passed
    };
    assert!(passed(&sound, &mut trial) > 100, "too little passes to begin with");
    assert_eq!(passed(&without_tags(&sound, RECORD), &mut trial), 0);
    // Nor if the ports have none either, so that both sides of every comparison are the same.
    assert_eq!(passed(&without_tags(&sound, EVERYWHERE), &mut trial), 0);
}

/// What follows a tag where it is to be forgotten: in a record the tunnel endpoint does.
type Follows = fn(&[u8]) -> bool;
const RECORD: Follows = |rest| rest.len() > 8 && rest[6..8] == [255, 10];
const EVERYWHERE: Follows = |_| true;

fn without_tags(policy: &[u8], is_one: Follows) -> Vec<u8> {
    let mut policy = policy.to_vec();
    for at in (0..policy.len() - 1).step_by(2) {
        let tag = u16::from_le_bytes([policy[at], policy[at + 1]]);
        if tag != 0 && world::TAGS.contains(&tag) && is_one(&policy[at..]) {
            policy[at..at + 2].fill(0);
        }
    }
    policy
}

/// A program of its own, or none where the kernel does not let us load one.
fn trial() -> Option<TrialFilter> {
    loaded(TrialFilter::new(Path::new("/sys/fs/bpf"), BLOCK))
}

fn loaded<T>(program: Result<T, filter::Fault>) -> Option<T> {
    match program {
        Ok(program) => Some(program),
        Err(fault @ filter::Fault::Privilege { .. }) => {
            eprintln!("skipped, as the kernel cannot be asked: {fault}");
            None
        }
        Err(fault) => panic!("{fault}: {:?}", std::error::Error::source(&fault)),
    }
}

/// The bytes the kernel judges by, to the end of its block.
fn held(trial: &mut TrialFilter, text: &str) -> Vec<u8> {
    let mut bytes = trial.put(text, &world::interface).unwrap().bytes;
    bytes.resize(BLOCK as usize, 0);
    bytes
}

fn wanted() -> u64 {
    std::env::var("FRAMES").map_or(FRAMES, |frames| frames.parse().unwrap())
}

/// Another one every day, and the same one for whoever repeats a failure.
fn seed() -> u64 {
    let seed = std::env::var("SEED").map_or_else(
        |_| std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() / 86_400,
        |seed| seed.parse().unwrap(),
    );
    eprintln!("SEED={seed}");
    seed
}

fn shown(number: u64, arrival: &Arrival<'_>) -> String {
    let hex: String = arrival.frame.iter().map(|byte| format!("{byte:02x}")).collect();
    let Arrival { hook, interface, mark, .. } = arrival;
    format!("frame {number} at {hook:?}, interface {interface}, mark {mark}: {hex}")
}
