//! The agent with what its systemd unit gives it, and no more.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use lab::Fault;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::flow::Flow;
use crate::standing::{PATIENCE, Standing, agents, until};
use crate::{DEVICE, settle};

const UNIT: &str = include_str!("../../../packaging/bulkhead-agent.service");
const WATCH: &str = include_str!("../../../packaging/bulkhead-watch.service");

/// Where capabilities are kept in `/proc/PID/status`, by their number (linux/capability.h).
const NUMBERS: [(&str, u32); 9] = [
    ("CAP_DAC_OVERRIDE", 1),
    ("CAP_DAC_READ_SEARCH", 2),
    ("CAP_NET_BIND_SERVICE", 10),
    ("CAP_NET_ADMIN", 12),
    ("CAP_NET_RAW", 13),
    ("CAP_SYS_ADMIN", 21),
    ("CAP_SYS_RESOURCE", 24),
    ("CAP_PERFMON", 38),
    ("CAP_BPF", 39),
];

/// The values of a key of the unit.
fn values(key: &str) -> BTreeSet<&'static str> {
    let lines = UNIT.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    lines.flat_map(str::split_whitespace).collect()
}

#[test]
fn systemd_takes_every_line_of_the_units() {
    check_unit("bulkhead-agent", UNIT, "52");
    check_unit("bulkhead-watch", WATCH, "12");
}

/// Above this exposure the unit gives more than it did when it was last looked at.
fn check_unit(name: &str, text: &str, exposure: &str) {
    let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    // The program is not installed where the unit expects it, and that is not asked here.
    let program = env!("CARGO_BIN_EXE_bulkhead");
    let unit = text.replace("/usr/bin/bulkhead-agent", program);
    let unit = unit.replace("/usr/bin/bulkhead", program);
    let file = folder.join(name).with_extension("service");
    fs::write(&file, unit).unwrap();
    let analyze = |arguments: &[&str]| {
        Command::new("systemd-analyze").args(arguments).arg("--no-pager").arg(&file).output()
    };
    match analyze(&["verify", "--man=no"]) {
        Err(error) => println!("skipped, as there is no systemd-analyze: {error}"),
        Ok(verified) => {
            assert_eq!(String::from_utf8_lossy(&verified.stderr), "");
            assert!(verified.status.success());
            let threshold = format!("--threshold={exposure}");
            let judged = analyze(&["security", "--offline=true", &threshold]).unwrap();
            assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stdout));
        }
    }
    fs::remove_dir_all(folder).unwrap();
}

/// The first process of a machine that has it.
const SYSTEMD: &str = "/lib/systemd/systemd";
const STARTS: &str = include_str!("systemd.sh");

/// The program behind a systemd of its own.
struct Served {
    folder: PathBuf,
    /// What its control groups' names begin with.
    groups: String,
}

impl Served {
    fn new() -> Self {
        let groups = format!("bulkhead-test-{}", std::process::id());
        let folder = std::env::temp_dir().join(&groups);
        fs::create_dir_all(&folder).unwrap();
        let unit = folder.join("unit");
        fs::write(&unit, UNIT).unwrap();
        let starts = STARTS
            .replace("@GROUP@", &groups)
            .replace("@PROGRAM@", env!("CARGO_BIN_EXE_bulkhead"))
            .replace("@UNIT@", &unit.display().to_string());
        let served = Self { folder, groups };
        fs::write(served.program(), starts).unwrap();
        fs::set_permissions(served.program(), fs::Permissions::from_mode(0o755)).unwrap();
        served
    }

    fn program(&self) -> PathBuf {
        self.folder.join("served")
    }
}

/// Control groups stay when nobody is in them.
impl Drop for Served {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
        let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
        let is_groups = |mount: &&str| mount.split(' ').nth(2) == Some("cgroup2");
        let Some(root) = mounts.lines().find(is_groups).and_then(|line| line.split(' ').nth(1))
        else {
            return;
        };
        for group in fs::read_dir(root).into_iter().flatten().flatten() {
            if group.file_name().to_string_lossy().starts_with(&self.groups) {
                remove_group(&group.path());
            }
        }
    }
}

fn remove_group(group: &Path) {
    for inner in fs::read_dir(group).into_iter().flatten().flatten() {
        if inner.path().is_dir() {
            remove_group(&inner.path());
        }
    }
    let _ = fs::remove_dir(group);
}

#[test]
fn an_agent_that_systemd_runs_by_its_unit_applies_finds_repairs_and_comes_back() {
    if !Path::new(SYSTEMD).exists() {
        println!("skipped, as there is no systemd: `cargo xtask setup` installs it");
        return;
    }
    let served = Served::new();
    let lab = Standing::of(&served.program(), "unit", 2);
    for device in [DEVICE, "leaf-2", "spine-1"] {
        check_confined(&lab, device);
    }
    let flows = [Flow::begin(&lab, "blue-1/0", "blue-2/0")];
    let news = News::of(&lab);
    for fault in [Fault::SecondNeighbor, Fault::Tag, Fault::SecondVtep, Fault::FilterDetached] {
        // The agent may undo a step before the next one is taken, which then fails.
        let _ = lab.break_(fault, Some(DEVICE));
        news.until(&format!("that {fault} is found"), |news| {
            matches!(news, agent::News::Drift { .. })
        });
        news.until(&format!("that {fault} is repaired"), |news| {
            matches!(news, agent::News::Repaired { by_agent: true, left, trouble: None, .. }
                if left.is_empty())
        });
        settle(&lab, &flows);
    }
    // systemd starts an agent that was killed, and it finds its state, which only it may read.
    let killed = process_of(&lab, DEVICE).unwrap();
    kill(Pid::from_raw(killed), Signal::SIGKILL).unwrap();
    until("another agent runs", || process_of(&lab, DEVICE).is_some_and(|now| now != killed));
    until("the agent answers again", || lab.status(DEVICE).is_some());
    settle(&lab, &flows);
    let (code, said) = lab.ask(&["test", "connectivity", "--sample", "1"]);
    assert_eq!(code, Some(0), "{said}");
}

/// The process of a device's agent.
fn process_of(lab: &Standing, device: &str) -> Option<i32> {
    let listens = format!("unix:{}", lab.own(device).join("agent.sock").display());
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let is_agent = |process: &Path| {
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        let program = fs::read_link(process.join("exe")).unwrap_or_default();
        program == Path::new(env!("CARGO_BIN_EXE_bulkhead"))
            && String::from_utf8_lossy(&line).contains(&listens)
    };
    let agent = processes.map(|process| process.path()).find(|process| is_agent(process))?;
    agent.file_name()?.to_str()?.parse().ok()
}

/// What the agent of the device tells.
struct News {
    /// Listens as long as it is there.
    _fleet: agent::Agents,
    told: Receiver<agent::News>,
}

impl News {
    /// From now on, and what was before is over: the first that an agent tells is what it holds.
    fn of(lab: &Standing) -> Self {
        let fleet = agents(lab);
        let (tell, told) = channel();
        fleet.listen(move |name, event| {
            if let (DEVICE, agent::Event::News(news)) = (name.as_str(), event) {
                // The test is over.
                let _ = tell.send(news);
            }
        });
        let news = Self { _fleet: fleet, told };
        news.until("what it holds", |news| matches!(news, agent::News::Held(_)));
        news
    }

    fn until(&self, what: &str, is_it: impl Fn(&agent::News) -> bool) {
        let end = Instant::now() + PATIENCE;
        let mut others = String::new();
        loop {
            match self.told.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(news) if is_it(&news) => return,
                Ok(news) => others += &format!("{news:?}\n"),
                Err(_) => panic!("the agent does not tell {what}; it told\n{others}"),
            }
        }
    }
}

/// The agent has what the unit says, all of it and nothing else.
fn check_confined(lab: &Standing, device: &str) {
    let wanted: u64 = values("CapabilityBoundingSet")
        .iter()
        .map(|name| NUMBERS.iter().find(|(known, _)| known == name).unwrap().1)
        .fold(0, |mask, number| mask | 1 << number);
    let process = process_of(lab, device).unwrap();
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    for set in ["CapPrm", "CapEff", "CapBnd"] {
        let line = status.lines().find_map(|line| line.strip_prefix(&format!("{set}:"))).unwrap();
        let held = u64::from_str_radix(line.trim(), 16).unwrap();
        assert_eq!(held, wanted, "{set} of the agent of {device}: {held:x}, not {wanted:x}");
    }
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
    // A filter of system calls.
    assert!(status.contains("Seccomp:\t2"), "{status}");
    let groups = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap();
    assert!(groups.contains("/bulkhead-agent.service\n"), "{groups}");
}
