//! `read` is the inverse of `render`: what the texts of a random plan let meet is exactly what the
//! plan says shall meet, in every dialect of the network, part by part and as a whole. Of the other
//! layers `core/read/tests` tells the same, claim by claim.

use std::collections::{BTreeMap, BTreeSet};

use cases::{World, world};
use model::{Artifact, Dialect, Part, PartText};
use verify::{Endpoint, Meeting, MeetingKind};

const WORLDS: u64 = 1_500;

#[test]
fn every_rendered_line_is_known() {
    let mut lines: BTreeMap<Dialect, usize> = BTreeMap::new();
    for seed in 0..WORLDS {
        let World { artifacts, .. } = world(seed);
        for Artifact { dialect, parts, .. } in &artifacts {
            for PartText { part, text } in parts {
                let unknown = read::claims(*dialect, text).unknown;
                assert!(unknown.is_empty(), "seed {seed}, {dialect}, {part}: {unknown:?}\n{text}");
                *lines.entry(*dialect).or_default() += text.lines().count();
            }
        }
    }
    let seen: Vec<Dialect> = lines.keys().copied().collect();
    let network: Vec<Dialect> = Dialect::ALL.into_iter().filter(|one| one.is_network()).collect();
    assert_eq!(seen, network, "every dialect was rendered: {lines:?}");
}

#[test]
fn parts_read_one_by_one_meet_as_planned() {
    check(|artifact| artifact);
}

#[test]
fn texts_read_as_a_whole_meet_as_planned() {
    check(|artifact| {
        let parts = vec![PartText { part: Part::Whole, text: artifact.text() }];
        Artifact { parts, ..artifact }
    });
}

/// Reads the texts of random plans in some form: they say what was planned, and nothing is found.
fn check(form: fn(Artifact) -> Artifact) {
    let (mut segments, mut rules) = (0, 0);
    for seed in 0..WORLDS {
        let world = world(seed);
        let artifacts: Vec<Artifact> = world.artifacts.iter().cloned().map(form).collect();
        let mut verifier = verify::reading(&world.plan.fleet, &world.owners, &artifacts);
        let found = verifier.judge();
        assert_eq!(found, [], "seed {seed}\n{}", world.documents);
        let planned = planned(&world);
        assert_eq!(verifier.meetings(), planned, "seed {seed}\n{}", world.documents);
        let is_rule = |meeting: &&Meeting| matches!(meeting.ground, MeetingKind::Rule { .. });
        rules += planned.iter().filter(is_rule).count();
        segments += planned.iter().filter(|meeting| !is_rule(meeting)).count();
    }
    assert!(segments > 1_000 && rules > 300, "{segments} segments and {rules} rules were compared");
}

/// Where endpoints meet if all is as planned: every job in its segment, and every two jobs that
/// consented at their service.
fn planned(world: &World) -> Vec<Meeting> {
    let plan = &world.plan;
    let members = |job: &plan::JobNet, name: &model::JobName| -> BTreeSet<Endpoint> {
        let seats = job
            .groups
            .iter()
            .flat_map(|group| group.seats.iter().map(move |seat| (group.device, seat.port)));
        seats.map(|(device, port)| Endpoint { device, port, owner: Some(name.clone()) }).collect()
    };
    let mut meetings: BTreeMap<MeetingKind, BTreeSet<Endpoint>> = BTreeMap::new();
    for (name, job) in &plan.jobs {
        let ground = MeetingKind::Segment { vni: job.l2vni, tag: Some(job.tag) };
        meetings.insert(ground, members(job, name));
    }
    for consent in plan.consents.values().flatten() {
        let (client, provider) = (&plan.jobs[&consent.client], &plan.jobs[&consent.provider]);
        let service = consent.service;
        let ground = MeetingKind::Rule { client: client.tag, provider: provider.tag, service };
        let both = meetings.entry(ground).or_default();
        both.extend(members(client, &consent.client));
        both.extend(members(provider, &consent.provider));
    }
    let meetings = meetings.into_iter();
    meetings
        .map(|(ground, members)| Meeting { ground, members: members.into_iter().collect() })
        .collect()
}
