//! The agent with what its systemd unit gives it, and no more.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use lab::Fault;

use crate::flow::Flow;
use crate::standing::{PATIENCE, Standing, until};
use crate::{DEVICE, settle};

const UNIT: &str = include_str!("../../../packaging/bulkhead-agent.service");

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
fn systemd_takes_every_line_of_the_unit() {
    let folder = std::env::temp_dir().join(format!("unit-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    // The program is not installed where the unit expects it, and that is not asked here.
    let unit = UNIT.replace("/usr/bin/bulkhead", env!("CARGO_BIN_EXE_bulkhead"));
    let file = folder.join("bulkhead-agent.service");
    fs::write(&file, unit).unwrap();
    let analyze = |arguments: &[&str]| {
        Command::new("systemd-analyze").args(arguments).arg("--no-pager").arg(&file).output()
    };
    match analyze(&["verify", "--man=no"]) {
        Err(error) => println!("skipped, as there is no systemd-analyze: {error}"),
        Ok(verified) => {
            assert_eq!(String::from_utf8_lossy(&verified.stderr), "");
            assert!(verified.status.success());
            // Above this the unit gives more than it did when it was last looked at.
            let judged = analyze(&["security", "--offline=true", "--threshold=52"]).unwrap();
            assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stdout));
        }
    }
    fs::remove_dir_all(folder).unwrap();
}

/// The program as systemd would start it: a bounding set, no way to get more, the groups.
fn confined(folder: &Path) -> PathBuf {
    let set: Vec<String> = values("CapabilityBoundingSet")
        .iter()
        .map(|name| format!("+{}", name.trim_start_matches("CAP_").to_lowercase()))
        .collect();
    let groups: Vec<&str> = values("SupplementaryGroups").into_iter().collect();
    assert!(values("AmbientCapabilities").is_empty() && values("User").is_empty());
    let groups = match groups.as_slice() {
        [] => "--clear-groups".to_owned(),
        some => format!("--groups {}", some.join(",")),
    };
    let text = format!(
        "#!/bin/sh\numask {}\nexec setpriv --no-new-privs {groups} --inh-caps=-all \
         --ambient-caps=-all --bounding-set=-all,{} {} \"$@\"\n",
        values("UMask").first().unwrap(),
        set.join(","),
        env!("CARGO_BIN_EXE_bulkhead"),
    );
    let file = folder.join("confined");
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

#[test]
fn an_agent_with_only_the_units_capabilities_applies_finds_and_repairs() {
    let folder = std::env::temp_dir().join(format!("confined-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let lab = Standing::of(&confined(&folder), "unit", 2);
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
            matches!(news, agent::News::Mended { by_agent: true, left, trouble: None, .. }
                if left.is_empty())
        });
        settle(&lab, &flows);
    }
    // An agent that comes back finds its state, which only it may read.
    lab.break_(Fault::AgentKilled, Some(DEVICE)).unwrap();
    lab.start_agent(DEVICE).unwrap();
    until("the agent answers again", || lab.status(DEVICE).is_some());
    settle(&lab, &flows);
    let (code, said) = lab.ask(&["test", "connectivity", "--sample", "1"]);
    assert_eq!(code, Some(0), "{said}");
    fs::remove_dir_all(folder).unwrap();
}

/// What the agent of the device tells.
struct News {
    /// Listens as long as it is there.
    _fleet: agent::Fleet,
    told: Receiver<agent::News>,
}

impl News {
    /// From now on, and what was before is over: the first that an agent tells is what it holds.
    fn of(lab: &Standing) -> Self {
        let fleet = agent::Fleet::open(&lab.authority()).unwrap();
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
    let socket = lab.own(device).join("agent.sock");
    let listens = format!("unix:{}", socket.display());
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let agent = processes.map(|process| process.path()).find(|process| {
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&listens)
    });
    let status = fs::read_to_string(agent.unwrap().join("status")).unwrap();
    for set in ["CapPrm", "CapEff", "CapBnd"] {
        let line = status.lines().find_map(|line| line.strip_prefix(&format!("{set}:"))).unwrap();
        let held = u64::from_str_radix(line.trim(), 16).unwrap();
        assert_eq!(held, wanted, "{set} of the agent of {device}: {held:x}, not {wanted:x}");
    }
    assert!(status.contains("NoNewPrivs:\t1"), "{status}");
}
