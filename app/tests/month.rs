//! A month of requests, crashes and manual changes through the command line: whoever has a copy of
//! the log, and no documents, gets the same answers elsewhere, and devices hold byte for byte what
//! it says.
//!
//! Limit: `watch` needs agents, so that it follows the log is seen on real ones
//! (`app/tests/drift`).

#![allow(clippy::unwrap_used, reason = "a month that ends early ends the test")]

mod desk;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use desk::{CLUSTER, Desk, files};

/// So many times somebody looks who has nothing but the log.
const LOOKS: u32 = 50;
const STATE: &str = "bulkhead-state";
const JOBS: u32 = 5;

/// Numbers that look like chance and are the same every time (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) as u32) % end
    }
}

struct Month {
    desk: Desk,
    chance: Chance,
    taken: u32,
    refused: u32,
    crashes: u32,
    manual: u32,
}

impl Month {
    fn step(&mut self) {
        let which = self.chance.below(JOBS);
        match self.chance.below(8) {
            0..=2 => self.put(which),
            3 => self.ask(&["delete", "job", &format!("red/job-{which}"), "--to", "sim"]),
            4 | 5 => self.crash(which),
            _ => self.change_by_hand(),
        }
    }

    fn job(&mut self, which: u32) -> String {
        let gpus = [1, 2, 4, 8, 64][self.chance.below(5) as usize];
        format!(
            "apiVersion: bulkhead.dev/v1\nkind: Job\nmetadata: {{name: job-{which}}}\nspec: \
             {{tenant: red, gpus: {gpus}}}\n"
        )
    }

    fn put(&mut self, which: u32) {
        let text = self.job(which);
        self.desk.write("job.yaml", &text);
        self.ask(&["apply", "job.yaml", "--to", "sim"]);
    }

    fn ask(&mut self, arguments: &[&str]) {
        match self.desk.run(arguments) {
            answer if answer.code == 0 => self.taken += 1,
            answer if answer.code == 1 => self.refused += 1,
            answer => panic!("{arguments:?}: {answer:?}"),
        }
    }

    /// The process that applies is ended in the middle of whatever it does.
    fn crash(&mut self, which: u32) {
        let text = self.job(which);
        self.desk.write("job.yaml", &text);
        let mut child = self.desk.command(&["apply", "job.yaml", "--to", "sim"]).spawn().unwrap();
        thread::sleep(Duration::from_micros(u64::from(self.chance.below(40_000))));
        child.kill().unwrap();
        child.wait().unwrap();
        self.crashes += 1;
        self.look();
    }

    /// Somebody takes a line out of what a device holds.
    fn change_by_hand(&mut self) {
        let held: Vec<PathBuf> = self.held().into_keys().collect();
        let path = &held[self.chance.below(held.len() as u32) as usize];
        let file = self.desk.path(STATE).join("sim").join(path);
        let text = fs::read_to_string(&file).unwrap();
        let cut = self.chance.below(text.lines().count() as u32) as usize;
        let kept = text.lines().enumerate().filter(|(place, _)| *place != cut);
        fs::write(&file, kept.map(|(_, line)| format!("{line}\n")).collect::<String>()).unwrap();
        self.manual += 1;
    }

    /// What devices hold, by file.
    fn held(&self) -> BTreeMap<PathBuf, String> {
        let mut held = files(&self.desk.path(STATE).join("sim"));
        held.retain(|path, _| path.file_name().unwrap() != "standing");
        held
    }

    /// Somebody looks who has a copy of the log and of what devices hold, and no document.
    fn look(&mut self) {
        let elsewhere = Desk::new("month-elsewhere");
        copy(&self.desk.path(STATE), &elsewhere.path("copy"));
        for command in [
            ["plan"].as_slice(),
            &["get"],
            &["history"],
            &["verify"],
            &["verify", "--held"],
            &["why", "red/train", "blue/train"],
            &["why", "red/train", "blue/train", "--held"],
            &["capacity"],
        ] {
            let ask = |desk: &Desk, state: &str| {
                let mut words = command.to_vec();
                words.extend(["--state", state, "-o", "json"]);
                let answer = desk.run(&words);
                assert!(answer.code < 2, "{words:?}: {answer:?}");
                // When devices were looked at is another moment each time.
                let lines = answer.out.lines().filter(|line| !line.contains("\"observedAt\": "));
                (answer.code, lines.collect::<Vec<_>>().join("\n"))
            };
            let here = ask(&self.desk, STATE);
            assert_eq!(here, ask(&elsewhere, "copy"), "{command:?}");
        }
        elsewhere.run(&["render", "--state", "copy", "--out", "out"]).ends(0);
        self.desk.run(&["render", "--out", "out"]).ends(0);
        let says = files(&elsewhere.path("out"));
        assert_eq!(files(&self.desk.path("out")), says);
        fs::remove_dir_all(self.desk.path("out")).unwrap();
    }

    /// What is due is done; then devices hold what the log says.
    fn settle(&mut self) {
        self.desk.run(&["apply", "--to", "sim"]).ends(0);
        self.desk.run(&["verify", "--held"]).ends(0);
        self.desk.run(&["render", "--out", "says"]).ends(0);
        assert_eq!(self.held(), files(&self.desk.path("says")));
        fs::remove_dir_all(self.desk.path("says")).unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

#[test]
fn a_copy_of_the_log_answers_the_same_elsewhere_through_a_month() {
    let desk = Desk::new("month");
    desk.run(&["apply", CLUSTER, "--to", "sim"]).ends(0);
    let chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut month = Month { desk, chance, taken: 0, refused: 0, crashes: 0, manual: 0 };
    for look in 0..LOOKS {
        for _ in 0..=month.chance.below(3) {
            month.step();
        }
        month.look();
        if look % 4 == 3 {
            month.settle();
        }
    }
    month.settle();
    let Month { taken, refused, crashes, manual, .. } = month;
    println!("{taken} taken, {refused} refused, {crashes} crashes, {manual} manual changes");
    assert!(taken > 15 && refused > 5 && crashes > 10 && manual > 10);
}
