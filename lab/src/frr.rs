//! FRR's daemons on a device of the lab: started there, and asked over their own sockets.

use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nix::unistd::User;
use observe::Backing;
use serde_json::Value;

use crate::LabTrouble;
use crate::folder::Folder;
use crate::process::Process;

const DAEMONS: &str = "/usr/lib/frr";
/// Both read one file, which is empty: everything they hold is said to them by the agent.
const NO_CONFIGURATION: &str = "empty.conf";
/// How much the kernel may tell zebra before it listens.
const NETLINK_BYTES: &str = "90000000";

/// Makes the folder that the daemons of a device live in.
pub(crate) fn prepare(folder: &Folder, device: &str) -> Result<(), LabTrouble> {
    let own = folder.frr(device);
    Folder::make(&own)?;
    Folder::write(&own.join(NO_CONFIGURATION), "")?;
    let user = User::from_name("frr").map_err(LabTrouble::kernel("look for the user `frr`"))?;
    let user = user.ok_or_else(|| LabTrouble::Program {
        program: format!("{DAEMONS}/zebra"),
        package: "frr",
        source: io::Error::from(io::ErrorKind::NotFound),
    })?;
    let (uid, gid) = (Some(user.uid.as_raw()), Some(user.gid.as_raw()));
    chown(&own, uid, gid).map_err(LabTrouble::file(&own))
}

/// Starts `zebra` or `bgpd` in the namespaces of this thread.
pub(crate) fn start(folder: &Folder, device: &str, daemon: &str) -> Result<Process, LabTrouble> {
    let own = folder.frr(device);
    let mut command = Command::new(Path::new(DAEMONS).join(daemon));
    command.args(["-u", "frr", "-g", "frr", "-P", "0", "-F", "datacenter"]);
    command.arg("-f").arg(own.join(NO_CONFIGURATION));
    command.arg("-i").arg(own.join(format!("{daemon}.pid")));
    command.arg("-z").arg(own.join("zserv.api"));
    command.arg("--vty_socket").arg(&own);
    if daemon == "zebra" {
        // As the package does: what the kernel tells while zebra is busy must not be lost.
        command.args(["-s", NETLINK_BYTES]);
        if folder.backing()? == Backing::Namespaces {
            command.arg("-n");
        }
    }
    let output = folder.device(device).join(format!("{daemon}.log"));
    Process::start(&folder.processes(), device, daemon, &mut command, &output)
}

/// Whether a daemon answers already.
pub(crate) fn listens(folder: &Folder, device: &str, daemon: &str) -> bool {
    UnixStream::connect(folder.frr(device).join(format!("{daemon}.vty"))).is_ok()
}

/// Whether zebra takes the routes of other daemons already.
pub(crate) fn takes_routes(folder: &Folder, device: &str) -> bool {
    UnixStream::connect(folder.frr(device).join("zserv.api")).is_ok()
}

/// What a daemon answers to a question in JSON; null if it does not.
pub(crate) fn ask(folder: &Folder, device: &str, daemon: &str, question: &str) -> Value {
    let said = say(folder, device, daemon, &[question]);
    said.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null)
}

/// Says lines to a daemon, one after the other, and gives what it said to the last one.
pub(crate) fn say(
    folder: &Folder,
    device: &str,
    daemon: &str,
    lines: &[&str],
) -> Result<String, LabTrouble> {
    let path = folder.frr(device).join(format!("{daemon}.vty"));
    let mut answer = (String::new(), 0);
    let mut speak = || -> io::Result<()> {
        let mut stream = UnixStream::connect(&path)?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        for line in lines {
            stream.write_all(format!("{line}\0").as_bytes())?;
            answer = hear(&mut stream)?;
            if answer.1 != 0 {
                break;
            }
        }
        Ok(())
    };
    speak().map_err(LabTrouble::file(&path))?;
    match answer {
        (said, 0) => Ok(said),
        (said, _) => {
            let said = format!("{} says: {}", device, said.trim());
            Err(LabTrouble::Failed { program: daemon.to_owned(), said })
        }
    }
}

/// An answer ends with three zeros and its status.
fn hear(stream: &mut UnixStream) -> io::Result<(String, u8)> {
    let mut heard = Vec::new();
    let mut piece = [0; 8192];
    loop {
        let len = stream.read(&mut piece)?;
        if len == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        heard.extend_from_slice(&piece[..len]);
        if let [said @ .., 0, 0, 0, status] = heard.as_slice() {
            return Ok((String::from_utf8_lossy(said).into_owned(), *status));
        }
    }
}
