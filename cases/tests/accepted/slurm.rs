use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io::Read as _};

use model::Dialect;
use read::{Fact, Hold};

use crate::artifacts;
use crate::room::{Room, ask};

/// Lines that need what is not here: a database, and another host.
const NOT_HERE: [&str; 3] =
    ["SlurmctldHost=", "AccountingStorageType=", "AccountingStorageEnforce="];

const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_controller_and_its_nodes_take_the_files_and_print_what_was_planned() {
    let text: String =
        artifacts(Dialect::Slurm).into_iter().map(|artifact| artifact.text()).collect();
    let mut cluster = Cluster::new(&text);
    for (node, gpus) in [("hgx-1", 2), ("hgx-2", 2), ("tray-1", 1), ("tray-2", 1)] {
        let (_, said) = ask(cluster.command("slurmd").args(["-G", "-N", node]));
        assert!(said.contains(&format!(" Count={gpus} ")) && !said.contains("error"), "{said}");
    }
    cluster.start();
    let config = cluster.scontrol(&["show", "config"]);
    for (key, value) in [
        ("ConstrainDevices", "yes"),
        ("GresTypes", "gpu"),
        ("MCSParameters", "enforced,select,privatedata"),
        ("MCSPlugin", "mcs/account"),
        ("ProctrackType", "proctrack/cgroup"),
        ("PrologFlags", "Alloc,Contain"),
        ("SelectType", "select/cons_tres"),
        ("TaskPlugin", "task/affinity,task/cgroup"),
    ] {
        let is_taken = |line: &str| {
            line.split_once('=').is_some_and(|(k, v)| (k.trim(), v.trim()) == (key, value))
        };
        assert!(config.lines().any(is_taken), "{key}={value}: {config}");
    }
    let topology = cluster.scontrol(&["show", "topology"]);
    for line in [
        "SwitchName=leaf-2 Level=0 LinkSpeed=1 Nodes=tray-1,tray-2",
        "SwitchName=spine-1 Level=1 LinkSpeed=1 Nodes=hgx-[1-2],tray-[1-2] Switches=leaf-1,leaf-2",
    ] {
        assert!(topology.contains(line), "{topology}");
    }
    let partitions = cluster.scontrol(&["show", "partition", "-o"]);
    assert!(partitions.contains("AllowAccounts=acme.research"), "{partitions}");
    for line in &cluster.files["reservations"] {
        cluster.reserve(line);
    }
    let held = cluster.scontrol(&["show", "reservation", "-o"]);
    let held = reserved(&format!("# reservations\n{held}"));
    assert_eq!(held, reserved(&text));
    assert_eq!(held.len(), 3);
}

fn reserved(text: &str) -> Vec<Hold> {
    let reading = read::claims(Dialect::Slurm, text);
    assert_eq!(reading.unknown, []);
    let holds = reading.claims.into_iter().filter_map(|claim| match claim.fact {
        Fact::Holds(hold @ Hold::Reserved { .. }) => Some(hold),
        _ => None,
    });
    let mut holds: Vec<Hold> = holds.collect();
    holds.sort();
    holds
}

/// A controller on this machine, with device files in a folder of its own.
struct Cluster {
    room: Room,
    /// Each file's lines.
    files: BTreeMap<String, Vec<String>>,
}

impl Cluster {
    fn new(text: &str) -> Self {
        let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut file = String::new();
        for line in text.lines() {
            match line.strip_prefix("# ") {
                Some(name) => file = name.to_owned(),
                None => files.entry(file.clone()).or_default().push(line.to_owned()),
            }
        }
        let room = Room::new("slurm");
        fs::create_dir_all(room.path("dev")).unwrap();
        for gpu in ["0", "1"] {
            // The number of NVIDIA's driver, which is not here: nobody can open what is made.
            let file = room.path(&format!("dev/nvidia{gpu}"));
            let (is_made, said) = ask(Command::new("mknod").arg(file).args(["c", "195", gpu]));
            assert!(is_made, "{said}");
        }
        let folder = room.path("").display().to_string();
        let gres = files["gres.conf"].join("\n").replace("/dev/", &format!("{folder}dev/"));
        room.write("etc/gres.conf", gres + "\n");
        room.write("etc/topology.conf", files["topology.conf"].join("\n") + "\n");
        // Which control groups there are is the machine's.
        let cgroup = files["cgroup.conf"].join("\n") + "\nCgroupPlugin=cgroup/v1\n";
        room.write("etc/cgroup.conf", cgroup);
        room.write("etc/slurm.conf", controller(&folder, &files["slurm.conf"]));
        fs::create_dir_all(room.path("state")).unwrap();
        Self { room, files }
    }

    fn start(&mut self) {
        let mut key = vec![0; 1024];
        fs::File::open("/dev/urandom").unwrap().read_exact(&mut key).unwrap();
        let key = self.room.write("munge/key", key);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).unwrap();
        let file = |name: &str, option: &str| {
            format!("--{option}={}", self.room.path(&format!("munge/{name}")).display())
        };
        let mut munged = Command::new("munged");
        munged.args(["--foreground", "--force"]).args([
            file("key", "key-file"),
            file("socket", "socket"),
            file("pid", "pid-file"),
            file("log", "log-file"),
            file("seed", "seed-file"),
        ]);
        self.room.start(munged.stdout(Stdio::null()).stderr(Stdio::null()));
        let mut controller = self.command("slurmctld");
        let log = fs::File::create(self.room.path("slurmctld.log")).unwrap();
        self.room.start(controller.args(["-D", "-c"]).stdout(Stdio::null()).stderr(log));
        let begin = Instant::now();
        while !ask(self.command("scontrol").arg("ping")).1.contains(" is UP") {
            let log = || fs::read_to_string(self.room.path("slurmctld.log")).unwrap();
            assert!(begin.elapsed() < PATIENCE, "the controller does not start:\n{}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// What is printed as a flag because nodes were named cannot be asked for.
    fn reserve(&self, line: &str) {
        let mut words = vec!["create".to_owned(), "reservation".to_owned()];
        words.extend(["StartTime=now".to_owned(), "Duration=UNLIMITED".to_owned()]);
        for word in line.split(' ').filter(|word| !word.ends_with("=(null)")) {
            if !word.starts_with("NodeCnt=") {
                words.push(word.replace(",SPEC_NODES", ""));
            }
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = self.scontrol(&words);
        assert!(said.contains("Reservation created"), "{line}: {said}");
    }

    fn scontrol(&self, words: &[&str]) -> String {
        ask(self.command("scontrol").args(words)).1
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.room.path("etc/slurm.conf"));
        command
    }
}

/// The planned file, with what it needs to run here instead of what is not here.
fn controller(folder: &str, lines: &[String]) -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim().split('.').next().unwrap().to_owned();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let is_here = |line: &&String| !NOT_HERE.iter().any(|begin| line.starts_with(begin));
    let mut text: String = lines.iter().filter(is_here).map(|line| format!("{line}\n")).collect();
    text = text.replace(" Gres=", &format!(" NodeHostname={host} NodeAddr=127.0.0.1 Gres="));
    text + &format!(
        "SlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={port}\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nAuthInfo=socket={folder}munge/socket\n\
         StateSaveLocation={folder}state\nSlurmdSpoolDir={folder}spool-%n\n\
         SlurmctldPidFile={folder}slurmctld.pid\nSlurmdPidFile={folder}slurmd-%n.pid\n\
         MpiDefault=none\nSlurmdParameters=config_overrides\n"
    )
}
