//! What an edit of FRR's configuration does: real daemons take it by vtysh and print back what they
//! took, and a written table says what each statement that they print otherwise does.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::edit::{Edit, with};
use super::{Classified, Consumer, Effect, Mutant, MutantKind};
use crate::Chance;

mod accepted;
mod effect;

use super::printed::Printed;
pub(super) use accepted::ACCEPTED;

/// Real daemons of FRR, new ones for each text, in namespaces of their own.
#[derive(Debug)]
pub struct Frr {
    folder: PathBuf,
    sound: Option<(String, Printed)>,
}

/// Starts the daemons, hands them a text, and prints what they took. Nothing of the machine is
/// touched: their sockets are in a file system, their links in a network that is gone afterwards.
const SCRIPT: &str = r#"
mount -t tmpfs none /run || exit 4
echo 1 >/proc/sys/net/ipv4/ip_forward
mkdir -p /run/frr /run/netns && chown frr:frr /run/frr
for daemon in zebra staticd bgpd; do
    options="-d -z /run/frr/zserv.api --vty_socket /run/frr -i /run/frr/$daemon.pid -A 127.0.0.1 -P 0"
    [ $daemon = bgpd ] && options="$options -p 0"
    /usr/lib/frr/$daemon $options 2>/dev/null || exit 4
done
vtysh --vty_socket /run/frr -f "$1" >/run/said 2>&1
took=$?
grep -q '^%\|: %\|line [0-9]*:\|only supported' /run/said && took=3
vtysh --vty_socket /run/frr -c 'show running-config'
for daemon in bgpd staticd zebra; do kill -9 $(cat /run/frr/$daemon.pid); done
exit $took
"#;

impl Frr {
    /// Daemons of FRR; none where they are not installed, or nobody may make namespaces.
    #[must_use]
    pub fn new() -> Option<Self> {
        let folder = PathBuf::from(format!("/var/tmp/mutants-frr-{}", std::process::id()));
        fs::create_dir_all(&folder).ok()?;
        fs::write(folder.join("script"), SCRIPT).ok()?;
        let frr = Self { folder, sound: None };
        frr.run("frr defaults datacenter\n").map(|_| frr)
    }

    /// What the daemons print of a text; none where they do not take it.
    fn run(&self, text: &str) -> Option<Printed> {
        let file = self.folder.join("text");
        fs::write(&file, text).ok()?;
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--uts", "sh"]).arg(self.folder.join("script")).arg(file);
        let output = command.stderr(Stdio::null()).output().ok()?;
        let printed = String::from_utf8_lossy(&output.stdout);
        output.status.success().then(|| Printed::of(&printed))
    }
}

impl Drop for Frr {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

impl Consumer for Frr {
    fn classify(&mut self, sound: &str, mutant: &Mutant) -> Classified {
        const BY: &str = "FRR 8.4 by what it prints, and a table of what a statement does";
        if self.sound.as_ref().is_none_or(|(text, _)| text != sound) {
            self.sound = self.run(sound).map(|printed| (sound.to_owned(), printed));
        }
        let edited = self.run(&mutant.text);
        let effect = match (&self.sound, edited) {
            (Some((_, sound)), Some(edited)) => effect::of(sound, &edited),
            _ => Effect::Refused,
        };
        Classified { effect, by: BY }
    }
}

/// What an edit does, by the table alone: for texts whose blocks are as the daemons print them.
pub(super) fn by_rules(sound: &str, mutant: &Mutant) -> Classified {
    const BY: &str = "rule: statements by their blocks, and a table of what they do";
    let is_plain = |byte: u8| (b' '..0x7f).contains(&byte) || byte == b'\n';
    let effect = match mutant.text.bytes().all(is_plain) {
        true => effect::of(&Printed::of(sound), &Printed::of(&mutant.text)),
        false => Effect::Refused,
    };
    Classified { effect, by: BY }
}

/// An edit that only this dialect has: lines and blocks put where others stand.
pub(super) fn edit(lines: &[&str], at: usize, chance: &mut Chance) -> Option<Edit> {
    let line = lines[at];
    match chance.below(10) {
        // A line of another block. Where it is not taken the daemons look for it further out.
        0..4 => {
            let other = lines[chance.below(lines.len())];
            let what = format!("behind {}: {}", line.trim(), other.trim());
            Some((MutantKind::Insert, what, with(lines, at, &[line, other])))
        }
        // What stands in another block in place of what stands here.
        4..7 => {
            let word = line.split_whitespace().next()?;
            let same: Vec<&&str> =
                lines.iter().filter(|other| other.trim_start().starts_with(word)).collect();
            let other = **chance.pick(&same)?;
            let what = format!("{} -> {}", line.trim(), other.trim());
            (other != line).then(|| (MutantKind::Change, what, with(lines, at, &[other])))
        }
        7 => {
            let end = lines[at..].iter().position(|line| line.starts_with("exit"))? + at;
            let is_head = !line.starts_with(' ') && !line.starts_with("exit");
            let kept = lines[..at].iter().chain(&lines[end + 1..]);
            let text = kept.map(|line| format!("{line}\n")).collect();
            is_head.then(|| (MutantKind::Delete, format!("gone: the block {line}"), text))
        }
        8 => {
            let end = lines[at..].iter().position(|line| line.starts_with("exit"))? + at;
            let is_head = !line.starts_with(' ') && !line.starts_with("exit");
            let kept = lines[..at].iter().chain(&lines[end + 1..]).chain(&lines[at..=end]);
            let text = kept.map(|line| format!("{line}\n")).collect();
            is_head.then(|| (MutantKind::Between, format!("at the end: the block {line}"), text))
        }
        _ => {
            let what = format!("taken back: {}", line.trim());
            let indent = line.len() - line.trim_start().len();
            let no = format!("{}no {}", &line[..indent], line.trim());
            let is_exit = line.trim().starts_with("exit");
            (!is_exit).then(|| (MutantKind::Insert, what, with(lines, at, &[line, &no])))
        }
    }
}
