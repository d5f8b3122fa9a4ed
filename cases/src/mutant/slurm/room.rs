//! The real controller in a room of its own: namespaces with the cluster's names, a key for its
//! messages, and the state of a cluster whose accounts are known.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use super::printed::{Printed, by_scontrol, files};

/// The real controller.
#[derive(Debug)]
pub struct Slurmctld {
    folder: PathBuf,
    munged: Child,
    port: u16,
    pub(super) sound: Option<Printed>,
}

/// Starts the controller of a folder, prints what it took, and ends it. What it writes elsewhere is
/// gone with the namespace.
const SCRIPT: &str = r#"
hostname slurm
mount --bind "$1/hosts" /etc/hosts
for folder in /run /tmp /var/log /var/spool; do mount -t tmpfs none $folder; done
export SLURM_CONF="$1/etc/slurm.conf"
slurmctld -D $2 >"$1/log" 2>&1 &
controller=$!
for try in $(seq 100); do
    # Who cannot prove who it is asks for a minute.
    said=$(timeout -s KILL 2 scontrol ping 2>/dev/null)
    [ $? -ge 124 ] && break
    case "$said" in *'is UP'*) break ;; esac
    kill -0 $controller 2>/dev/null || exit 3
    sleep 0.02
done
case "$said" in *'is UP'*) ;; *) kill -9 $controller; exit 3 ;; esac
scontrol show config && scontrol show node -o && scontrol show partition -o || exit 4
scontrol show topology
if [ -n "$2" ]; then scontrol shutdown; else kill -9 $controller; fi
wait $controller
exit 0
"#;

impl Slurmctld {
    /// A room for it; none where it is not installed, or nobody may make namespaces.
    #[must_use]
    pub fn new() -> Option<Self> {
        let folder = PathBuf::from(format!("/var/tmp/mutants-{}", std::process::id()));
        fs::create_dir_all(folder.join("etc")).ok()?;
        fs::create_dir_all(folder.join("munge")).ok()?;
        let key = folder.join("munge/key");
        fs::write(&key, fs::read("/proc/sys/kernel/random/uuid").ok()?).ok()?;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).ok()?;
        let file = |option: &str, name: &str| {
            format!("--{option}={}", folder.join("munge").join(name).display())
        };
        let mut munged = Command::new("munged");
        munged.args(["--foreground", "--force"]).args([
            file("key-file", "key"),
            file("socket", "socket"),
            file("pid-file", "pid"),
            file("log-file", "log"),
            file("seed-file", "seed"),
        ]);
        let munged = munged.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let port = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
        Some(Self { folder, munged, port, sound: None })
    }

    /// What the controller prints of a text; none where it does not take it.
    pub(super) fn printed(&mut self, text: &str) -> Option<Printed> {
        if !self.folder.join("known").exists() {
            self.learn(text)?;
        }
        let said = self.run(text, false)?;
        Some(by_scontrol(&said))
    }

    /// The state of a cluster whose accounts were known once: without it the controller waits for
    /// the database.
    fn learn(&mut self, text: &str) -> Option<()> {
        let alone = text.lines().filter(|line| !line.starts_with("AccountingStorage"));
        let alone: String = alone.map(|line| format!("{line}\n")).collect();
        self.run(&alone, true)?;
        fs::rename(self.folder.join("state"), self.folder.join("known")).ok()
    }

    fn run(&self, text: &str, is_first: bool) -> Option<String> {
        let (here, port) = (self.folder.display(), self.port);
        let state = self.folder.join("state");
        drop(fs::remove_dir_all(&state));
        fs::create_dir_all(&state).ok()?;
        for entry in fs::read_dir(self.folder.join("known")).into_iter().flatten().flatten() {
            fs::copy(entry.path(), state.join(entry.file_name())).ok()?;
        }
        // In front, so that every line of the text counts.
        let own = format!(
            "SlurmctldPort={port}\nSlurmUser=root\nAuthInfo=socket={here}/munge/socket\n\
             StateSaveLocation={here}/state\nSlurmdSpoolDir={here}/spool-%n\nMpiDefault=none\n\
             SlurmctldPidFile={here}/pid\n"
        );
        let etc = self.folder.join("etc");
        drop(fs::remove_dir_all(&etc));
        fs::create_dir_all(&etc).ok()?;
        for (name, text) in files(text) {
            let begin = if name == "slurm.conf" { own.as_str() } else { "" };
            fs::write(etc.join(name), format!("{begin}{text}")).ok()?;
        }
        let names = "127.0.0.1 localhost slurm h1 h2 a1 t1 t2 eve\n";
        fs::write(self.folder.join("hosts"), names).ok()?;
        fs::write(self.folder.join("script"), SCRIPT).ok()?;
        let mut command = Command::new("unshare");
        command.args(["--mount", "--uts", "sh"]).arg(self.folder.join("script"));
        // What an edited text names without a path is written in the room.
        command.arg(&self.folder).args(is_first.then_some("-c")).current_dir(&self.folder);
        let output = command.stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Slurmctld {
    fn drop(&mut self) {
        drop(self.munged.kill());
        drop(self.munged.wait());
        drop(fs::remove_dir_all(&self.folder));
    }
}
