//! The cables of a fleet as pairs of interfaces, in the words of `ip -batch`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use model::{Fleet, LinkEnd};

use crate::LabTrouble;
use crate::folder::Folder;

/// What every cable and port of the fabric carries.
const FABRIC_MTU: u16 = 9216;
/// What a workload sends: with any tunnel's head it still fits.
pub(crate) const WORKLOAD_MTU: u16 = 9000;

/// All cables between switches, up, and all from leaves to the nodes' interfaces, down at the
/// leaf: the port opens when a job starts there.
pub(crate) fn lines(fleet: &Fleet, folder: &Folder) -> String {
    let mut lines = String::new();
    let name = |end: &LinkEnd| fleet.switches[end.switch.index()].name.as_str();
    for link in &fleet.links {
        let [a, b] = [&link.a, &link.b].map(|end| (end.port, folder.namespace(name(end))));
        let _ = writeln!(
            lines,
            "link add {} netns {} mtu {FABRIC_MTU} type veth peer name {} netns {} mtu {FABRIC_MTU}",
            a.0, a.1, b.0, b.1
        );
    }
    for node in &fleet.nodes {
        for (nic, uplink) in node.uplinks.iter().enumerate() {
            let leaf = folder.namespace(fleet.switches[uplink.leaf.index()].name.as_str());
            let own = folder.namespace(&format!("{}/{nic}", node.name));
            let _ = writeln!(
                lines,
                "link add {} netns {leaf} mtu {FABRIC_MTU} type veth peer name eth0 netns {own} \
                 address {} mtu {WORKLOAD_MTU}",
                uplink.port, uplink.mac
            );
        }
    }
    lines
}

/// Brings a switch's own cables up.
pub(crate) fn fabric_up(fleet: &Fleet, switch: usize) -> String {
    let ends = fleet.links.iter().flat_map(|link| [&link.a, &link.b]);
    let own = ends.filter(|end| end.switch.index() == switch);
    own.map(|end| format!("link set {} up\n", end.port)).collect()
}

/// Has `ip` or `bridge` do this in the namespace of this thread.
pub(crate) fn batch(program: &'static str, lines: &str) -> Result<(), LabTrouble> {
    let missing =
        |source| LabTrouble::Program { program: program.to_owned(), package: "iproute2", source };
    let mut child = Command::new(program)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    if let Some(mut stdin) = child.stdin.take() {
        // What it did not take, it complains about.
        let _ = stdin.write_all(lines.as_bytes());
    }
    let output = child.wait_with_output().map_err(missing)?;
    if output.status.success() {
        return Ok(());
    }
    let said =
        String::from_utf8_lossy(&output.stderr).lines().take(3).collect::<Vec<_>>().join("; ");
    Err(LabTrouble::Failed { program: program.to_owned(), said })
}
