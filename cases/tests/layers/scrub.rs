//! What a job left is gone before another one is there, and the verifier sees the evidence by
//! itself: the hall, in which memories of GPUs and interfaces must be scrubbed.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use intent::{Intent, Source};
use model::{Artifact, Dialect, Evidence, Memory, Name, Owners};
use plan::{Ledger, Planner};
use verify::Code;

use crate::hall::{document, found};

/// Red left a board; after all devices were seen without it and it was scrubbed, blue got two of
/// its interfaces, and another job of red the other two. Then a line of what is known about that
/// is gone.
fn check(gone: &str, expected: Expect) {
    let (planner, mut artifacts) = handed_over();
    let h1 = artifacts.iter_mut().find(|artifact| is_about_h1(&planner, artifact)).unwrap();
    let before: usize = lines(h1).len();
    for part in &mut h1.parts {
        let kept = part.text.lines().filter(|line| gone.is_empty() || !line.starts_with(gone));
        part.text = kept.map(|line| format!("{line}\n")).collect();
    }
    assert_eq!(lines(h1).len() == before, gone.is_empty(), "a line `{gone}` was there");
    let mut told = String::new();
    for line in lines(h1) {
        let _ = writeln!(told, "{line}");
    }
    told += "\n";
    told += &found(&planner.plan().fleet, &planner.plan().owners(), &artifacts);
    expected.assert_eq(&told);
}

#[test]
fn evidence_for_every_memory_is_a_proof() {
    check(
        "",
        expect![[r#"
            after blue/tune nics 0,2 red/train owing hbm,nic
            scrubbed blue/tune nics 0,2 red/train hbm by h1 at 2026-11-16T09:00:00Z method zeros read-back sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
            scrubbed blue/tune nics 0,2 red/train nic by h1 at 2026-11-16T09:00:00Z method zeros read-back sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
            after red/more nics 1,3 red/train owing hbm,nic
            scrubbed red/more nics 1,3 red/train hbm by h1 at 2026-11-16T09:00:00Z method zeros read-back sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
            scrubbed red/more nics 1,3 red/train nic by h1 at 2026-11-16T09:00:00Z method zeros read-back sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855

        "#]],
    );
}

#[test]
fn a_memory_without_evidence_is_where_both_meet() {
    check(
        "scrubbed blue/tune nics 0,2 red/train hbm",
        expect![[r#"
            after blue/tune nics 0,2 red/train owing hbm,nic
            scrubbed blue/tune nics 0,2 red/train nic by h1 at 2026-11-16T09:00:00Z method zeros read-back sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
            after red/more nics 1,3 red/train owing hbm,nic
            scrubbed red/more nics 1,3 red/train hbm by h1 at 2026-11-16T09:00:00Z method zeros read-back sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
            scrubbed red/more nics 1,3 red/train nic by h1 at 2026-11-16T09:00:00Z method zeros read-back sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855

            breach: h1 GPU 1 (blue/tune) meets h1 GPU 1 (red/train) in the hbm of h1, which was not scrubbed in between: data can cross
              h1 scrub:1  after blue/tune nics 0,2 red/train owing hbm,nic
        "#]],
    );
}

#[test]
fn no_evidence_at_all_is_a_meeting_in_every_memory() {
    check(
        "scrubbed",
        expect![[r#"
            after blue/tune nics 0,2 red/train owing hbm,nic
            after red/more nics 1,3 red/train owing hbm,nic

            breach: h1 GPU 1 (blue/tune) meets h1 GPU 1 (red/train) in the hbm of h1, which was not scrubbed in between: data can cross
              h1 scrub:1  after blue/tune nics 0,2 red/train owing hbm,nic
            breach: h1 GPU 2 (red/more) meets h1 GPU 2 (red/train) in the hbm of h1, which was not scrubbed in between: data can cross
              h1 scrub:2  after red/more nics 1,3 red/train owing hbm,nic
            breach: h1 interface 0 (blue/tune) meets h1 interface 0 (red/train) in the nic of h1, which was not scrubbed in between: data can cross
              h1 scrub:1  after blue/tune nics 0,2 red/train owing hbm,nic
            breach: h1 interface 1 (red/more) meets h1 interface 1 (red/train) in the nic of h1, which was not scrubbed in between: data can cross
              h1 scrub:2  after red/more nics 1,3 red/train owing hbm,nic
        "#]],
    );
}

#[test]
fn nobody_says_who_was_there_before() {
    check(
        "after blue/tune",
        expect![[r#"
            scrubbed blue/tune nics 0,2 red/train hbm by h1 at 2026-11-16T09:00:00Z method zeros read-back sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
            scrubbed blue/tune nics 0,2 red/train nic by h1 at 2026-11-16T09:00:00Z method zeros read-back sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
            after red/more nics 1,3 red/train owing hbm,nic
            scrubbed red/more nics 1,3 red/train hbm by h1 at 2026-11-16T09:00:00Z method zeros read-back sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
            scrubbed red/more nics 1,3 red/train nic by h1 at 2026-11-16T09:00:00Z method zeros read-back sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855

            unknown-past: h1: nobody says who had interfaces 0, 2 of blue/tune last
              h1 scrub:1  scrubbed blue/tune nics 0,2 red/train hbm by h1 at 2026-11-16T09:00:00Z method zeros read-back sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
              h1 scrub:2  scrubbed blue/tune nics 0,2 red/train nic by h1 at 2026-11-16T09:00:00Z method zeros read-back sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
        "#]],
    );
}

/// Who has the log finds lines that say something else, though each would do as evidence.
#[test]
fn what_the_log_does_not_say_is_found_with_its_line() {
    for (was, other) in [
        ("at 2026-11-16T09:00:00Z", "at 2026-11-16T09:00:01Z"),
        ("method zeros", "method ones"),
        ("sha256:e3b0c442", "sha256:a3c024f1"),
        ("by h1", "by h2"),
        ("red/train hbm by", "red/train sram by"),
        ("red/train owing hbm,nic", "red/train owing nic"),
        ("red/train owing hbm,nic", "blue/tune owing hbm,nic"),
        ("after blue/tune nics 0,2 red/train owing hbm,nic", "clean blue/tune nics 0,2"),
    ] {
        let found = found_by_the_log(|line| line.replacen(was, other, 1));
        let line = found.iter().find(|said| said.contains(other));
        assert!(line.is_some(), "nobody finds {other} instead of {was}: {found:?}");
    }
    assert_eq!(found_by_the_log(str::to_owned), [""; 0]);
    let apart = found_by_the_log(|line| line.replace("owing hbm,nic", "owing nic,hbm"));
    assert_eq!(apart, [""; 0], "the order of memories says nothing");
}

/// The lines about which the log says otherwise, after the first line of h1 that this edit changes.
fn found_by_the_log(edit: impl Fn(&str) -> String) -> Vec<String> {
    let (planner, mut artifacts) = handed_over();
    let fleet = &planner.plan().fleet;
    let owners = planner.plan().owners();
    let owners = Owners { pasts: Some(planner.ledger().pasts_in(fleet)), ..owners };
    let h1 = artifacts.iter_mut().find(|artifact| is_about_h1(&planner, artifact)).unwrap();
    let edited = |part: &&mut model::PartText| part.text.lines().any(|line| edit(line) != line);
    if let Some(part) = h1.parts.iter_mut().find(edited) {
        let mut lines: Vec<String> = part.text.lines().map(str::to_owned).collect();
        let line = lines.iter_mut().find(|line| edit(line) != **line).unwrap();
        *line = edit(line);
        part.text = lines.join("\n") + "\n";
    }
    let findings = verify::findings(fleet, &owners, &artifacts);
    let other = findings.iter().filter(|one| one.code() == Code::OtherPast);
    let quoted = other.flat_map(|one| &one.present).filter_map(|said| {
        let of = |a: &&Artifact| (a.device, a.dialect) == (said.device, said.dialect);
        said.quote(artifacts.iter().find(of)?)
    });
    quoted.map(|(_, line)| line.to_string()).collect()
}

/// Whatever word of a line that names a job, an interface or a memory is another one, is found.
#[test]
fn every_line_and_every_name_in_it_matters() {
    let (planner, artifacts) = handed_over();
    let (fleet, owners) = (&planner.plan().fleet, planner.plan().owners());
    let mut verifier = verify::reading(fleet, &owners, &artifacts);
    assert_eq!(verifier.judge(), []);
    let mut cuts = 0;
    for artifact in artifacts.iter().filter(|artifact| artifact.dialect == Dialect::Scrub) {
        for part in &artifact.parts {
            for text in cuts_of(&part.text) {
                let reading = read::claims(Dialect::Scrub, &text);
                verifier.take(artifact.device, Dialect::Scrub, &part.part, Some(reading));
                assert_ne!(verifier.judge(), [], "nobody finds\n{text}instead of\n{}", part.text);
                let reading = read::claims(Dialect::Scrub, &part.text);
                verifier.take(artifact.device, Dialect::Scrub, &part.part, Some(reading));
                cuts += 1;
            }
        }
    }
    assert_eq!(verifier.judge(), [], "every cut was healed");
    assert_eq!(cuts, 34, "every line has its cuts");
}

/// The text without each of its lines, and with another job, interface or memory in each of them.
/// What somebody wrote about how it was done is nobody's to judge.
fn cuts_of(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut cuts = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let mut with = |other: Option<String>| {
            let mut new: Vec<String> = lines.iter().map(ToString::to_string).collect();
            match other {
                Some(other) => new[at] = other,
                None => drop(new.remove(at)),
            }
            cuts.push(new.join("\n") + "\n");
        };
        with(None);
        let names = line.find(" by ").unwrap_or(line.len());
        for (word, other) in [
            ("red/train", "green/serve"),
            ("red/more", "green/serve"),
            ("blue/tune", "green/serve"),
            ("nics 0", "nics 6"),
            ("nics 1", "nics 6"),
            ("2 ", "7 "),
            ("3 ", "7 "),
        ] {
            if line[..names].contains(word) {
                with(Some(line[..names].replace(word, other) + &line[names..]));
            }
        }
        if line.starts_with("scrubbed") {
            let swapped =
                if line[..names].ends_with("hbm") { ("hbm", "nic") } else { ("nic", "hbm") };
            let kept = &line[..names - 3];
            with(Some(format!("{kept}{}{}", swapped.1, &line[names..])));
        }
    }
    cuts
}

/// Whoever asks the books again is told the same as whoever followed all along.
#[test]
fn the_books_tell_the_same_as_whoever_followed() {
    let (planner, _) = handed_over();
    let later = load(&[("blue", "tune", "h1/0, h1/2"), ("red", "more", "h1/1, h1/3")]);
    let again = Planner::new(&later, planner.ledger()).unwrap();
    assert_eq!(again.plan().pasts, planner.plan().pasts);
    assert_eq!(again.plan().pasts.len(), 2);
}

/// What the same job takes back owes nothing to itself.
#[test]
fn a_job_that_comes_back_needs_no_evidence() {
    let intent = load(&[("red", "train", "h1/0, h1/1, h1/2, h1/3")]);
    let mut planner = Planner::new(&intent, &Ledger::default()).unwrap();
    let (job, _) = intent.jobs.first_key_value().unwrap();
    planner.release(job).unwrap();
    planner.admit(&intent.jobs[job]).unwrap();
    let artifacts = render::all(planner.plan());
    let h1 = artifacts.iter().find(|artifact| is_about_h1(&planner, artifact)).unwrap();
    assert_eq!(lines(h1), ["after red/train nics 0,1,2,3 red/train owing hbm,nic"]);
    let plan = planner.plan();
    assert_eq!(verify::findings(&plan.fleet, &plan.owners(), &artifacts), []);
}

fn handed_over() -> (Planner, Vec<Artifact>) {
    let intent = load(&[("red", "train", "h1/0, h1/1, h1/2, h1/3")]);
    let mut planner = Planner::new(&intent, &Ledger::default()).unwrap();
    let (job, _) = intent.jobs.first_key_value().unwrap();
    planner.release(job).unwrap();
    let _records = planner.seal();
    see_all(&mut planner);
    planner.scrubbed(&name("h1"), job, evidence()).unwrap();
    let later = load(&[("blue", "tune", "h1/0, h1/2"), ("red", "more", "h1/1, h1/3")]);
    for job in later.jobs.values() {
        planner.admit(job).unwrap();
    }
    let artifacts = render::all(planner.plan());
    (planner, artifacts)
}

fn see_all(planner: &mut Planner) {
    let generation = planner.plan().generation;
    let fleet = std::sync::Arc::clone(&planner.plan().fleet);
    for device in fleet.devices() {
        planner.seen(fleet.device_name(device), generation).unwrap();
    }
}

fn evidence() -> Vec<Evidence> {
    let one = |memory| Evidence {
        memory,
        method: "zeros".into(),
        read_back: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".into(),
        by: name("h1"),
        at: "2026-11-16T09:00:00Z".into(),
    };
    [Memory::Hbm, Memory::Nic].map(one).to_vec()
}

/// The hall with these jobs, each with its tenant and interfaces.
fn load(jobs: &[(&str, &str, &str)]) -> Intent {
    let fleet = document("fleet.yaml").replace("  layers:", "  scrub: [hbm, nic]\n  layers:");
    let work = document("work.yaml");
    let tenants: Vec<&str> =
        work.split("---\n").filter(|text| text.contains("kind: Tenant")).collect();
    let mut work = tenants.join("---\n");
    for (tenant, name, endpoints) in jobs {
        let _ = write!(
            work,
            "---\napiVersion: bulkhead.dev/v1\nkind: Job\nmetadata: {{name: {name}}}\n\
             spec: {{tenant: {tenant}, endpoints: [{endpoints}]}}\n"
        );
    }
    let sources =
        [Source { file: "fleet.yaml", text: &fleet }, Source { file: "work.yaml", text: &work }];
    intent::load(&sources).unwrap()
}

fn is_about_h1(planner: &Planner, artifact: &Artifact) -> bool {
    let name = planner.plan().fleet.device_name(artifact.device);
    artifact.dialect == Dialect::Scrub && name.as_str() == "h1"
}

fn lines(artifact: &Artifact) -> Vec<&str> {
    artifact.parts.iter().flat_map(|part| part.text.lines()).collect()
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}
