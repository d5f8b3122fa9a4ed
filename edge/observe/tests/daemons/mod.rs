//! Real FRR daemons in a network and a mount namespace of their own, which end with the value.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A device with zebra and bgpd, and nothing configured.
pub(crate) struct Daemons {
    folder: PathBuf,
    /// Keeps the namespaces alive.
    holder: Child,
    running: Vec<(String, Child)>,
}

impl Daemons {
    pub(crate) fn start() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("frr-test-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        // The daemons give up root before they make their sockets.
        run(Command::new("chown").arg("frr:frr").arg(&folder));
        let mut daemons = Self { folder, holder: holder(), running: Vec::new() };
        daemons.begin("zebra");
        daemons.begin("bgpd");
        daemons
    }

    /// Where their sockets are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts a daemon, and waits until it answers.
    pub(crate) fn begin(&mut self, daemon: &str) {
        let file = |end: &str| self.folder.join(format!("{daemon}.{end}"));
        let mut command = self.inside();
        command.arg(format!("/usr/lib/frr/{daemon}"));
        if daemon == "zebra" {
            command.arg("-n");
        }
        command.args(["-f", "/dev/null", "-P", "0", "-i"]).arg(file("pid"));
        command.arg("-z").arg(self.folder.join("zserv.api"));
        command.arg("--vty_socket").arg(&self.folder);
        command.arg("--log").arg(format!("file:{}", file("log").display()));
        let child = command.stderr(Stdio::null()).spawn().expect("FRR is installed");
        self.running.push((daemon.into(), child));
        let deadline = Instant::now() + Duration::from_secs(20);
        while let Err(trouble) = observe::Vty::open(&self.folder, daemon) {
            assert!(Instant::now() < deadline, "{daemon} does not come up: {trouble}");
            sleep(Duration::from_millis(5));
        }
    }

    /// Ends a daemon as the system would, and waits until it has.
    pub(crate) fn end(&mut self, daemon: &str) {
        let place = self.running.iter().position(|(name, _)| name == daemon).unwrap();
        let (_, mut child) = self.running.remove(place);
        run(Command::new("kill").arg(child.id().to_string()));
        child.wait().unwrap();
    }

    /// Runs a line of shell on the device.
    pub(crate) fn shell(&self, line: &str) {
        run(self.inside().args(["sh", "-ec", line]));
    }

    /// Says commands in configuration mode, as a person would.
    pub(crate) fn by_hand(&self, commands: &[&str]) {
        let mut vtysh = Command::new("vtysh");
        vtysh.arg("--vty_socket").arg(&self.folder).args(["-c", "configure terminal"]);
        for command in commands {
            vtysh.args(["-c", command]);
        }
        run(&mut vtysh);
    }

    fn inside(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-m", "-n", "-t"]).arg(self.holder.id().to_string());
        command
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        for (_, child) in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = self.holder.kill();
        let _ = self.holder.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A process in new namespaces, with a folder of VRFs that is empty and its own.
fn holder() -> Child {
    const PREPARE: &str = "
        mkdir -p /run/netns
        mount -t tmpfs tmpfs /run/netns
        mkdir /run/netns/.real
        ip link set lo up
        ip link add swp33 type veth peer name far33
        sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
        echo ready
        exec sleep infinity
    ";
    let mut holder = Command::new("unshare");
    holder.args(["--net", "--mount", "--propagation", "private", "sh", "-ec", PREPARE]);
    let mut holder = holder.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n", "namespaces need root");
    holder
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}
