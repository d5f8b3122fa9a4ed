//! What an edit of a virtual machine does: libvirt itself prints what it took of it, and a written
//! table says what that means.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use roxmltree::{Document, Node};

use super::edit::{Edit, edited};
use super::{Classified, Consumer, Effect, Mutant, MutantKind};
use crate::{Chance, World};

mod accepted;
mod means;

pub(in crate::mutant) use accepted::ACCEPTED;

/// Puts into each machine of a world what libvirt itself prints beside what it was sent, so that
/// this is edited too.
pub(super) fn print(world: &mut World) {
    for artifact in world.artifacts.iter_mut().filter(|one| one.dialect == model::Dialect::Vm) {
        for part in &mut artifact.parts {
            part.text = part
                .text
                .replace("  <numatune>", &format!("{}  <numatune>", accepted::BEFORE))
                .replace(
                    "  <devices>\n",
                    &format!("{}  <devices>\n{}", accepted::OWN, accepted::FIRST),
                )
                .replace(
                    "  </devices>\n",
                    &format!("{}  </devices>\n{}", accepted::LAST, accepted::LABEL),
                );
        }
    }
}

/// A machine without what keeps the host out of it, which Debian 12's libvirt does not know, and
/// what that is.
fn parted(text: &str) -> (String, &str) {
    const END: &str = "</launchSecurity>\n";
    let begin = text.find("  <launchSecurity");
    let end = text.find(END).map(|end| end + END.len());
    match begin.zip(end).filter(|(begin, end)| begin < end) {
        Some((begin, end)) => (format!("{}{}", &text[..begin], &text[end..]), &text[begin..end]),
        None => (text.to_owned(), ""),
    }
}

/// An edit that only this dialect has.
pub(super) fn edit(lines: &[&str], at: usize, chance: &mut Chance) -> Option<Edit> {
    let line = lines[at];
    let between = MutantKind::Between;
    let attributes: Vec<(usize, usize)> = line
        .match_indices("='")
        .filter_map(|(from, _)| Some((from + 2, from + 2 + line[from + 2..].find('\'')?)))
        .collect();
    let value = |chance: &mut Chance| chance.pick(&attributes).copied();
    let (kind, new) = match chance.below(24) {
        0 | 1 => return gone(lines, at),
        2..8 => {
            let (from, to) = value(chance)?;
            let word = chance.pick(&accepted::VALUES)?;
            (MutantKind::Change, format!("{}{word}{}", &line[..from], &line[to..]))
        }
        8..12 => {
            let from = line.find('>').map(|at| at + 1)?;
            let to = line.rfind("</").filter(|to| *to >= from)?;
            let word = chance.pick(&accepted::VALUES)?;
            (MutantKind::Change, format!("{}{word}{}", &line[..from], &line[to..]))
        }
        12 => (between, line.replace('\'', "\"")),
        13 => (between, line.replace("/>", " />")),
        14 => (between, line.replacen('>', " >", 1)),
        15 => (between, format!("{line}\n<!-- looked at on Monday -->")),
        16 => (between, format!("<!-- {} -->\n{line}", line.trim().replace("--", ""))),
        17 => (between, line.replacen(" ", "   ", 1)),
        18 => (between, line.replace("='", " = '")),
        19 => {
            let (from, to) = value(chance)?;
            let first = line[from..to].chars().next()?;
            let rest = &line[from + first.len_utf8()..];
            (between, format!("{}&#x{:x};{rest}", &line[..from], u32::from(first)))
        }
        20 => {
            let from = line.find('>').map(|at| at + 1)?;
            let to = line.rfind("</").filter(|to| *to > from)?;
            let text = &line[from..to];
            (between, format!("{}<![CDATA[{text}]]>{}", &line[..from], &line[to..]))
        }
        21 => (between, line.replacen("/>", &format!("></{}>", name(line)?), 1)),
        22 => (MutantKind::Insert, line.replacen("/>", " other='1'/>", 1)),
        _ => (between, format!("\n\n{line}\t")),
    };
    edited(kind, lines, at, &new)
}

fn name(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('<')?;
    rest.split([' ', '>', '/']).next().filter(|name| !name.is_empty() && !name.starts_with('!'))
}

/// An element with all that stands in it.
fn gone(lines: &[&str], at: usize) -> Option<Edit> {
    let line = lines[at];
    let end = format!("</{}>", name(line)?);
    let last = match line.ends_with("/>") || line.contains(&end) {
        true => at,
        false => at + lines[at..].iter().position(|line| line.trim_start().starts_with(&end))?,
    };
    let kept: Vec<&str> = lines[..at].iter().chain(&lines[last + 1..]).copied().collect();
    let text = kept.iter().map(|line| format!("{line}\n")).collect();
    Some((MutantKind::Delete, format!("gone: {line}"), text))
}

const BY: &str = "libvirt, by virsh dumpxml, and a table of what it means";
const NOBODY: Classified = Classified { effect: Effect::Refused, by: "rule: nobody was asked" };

/// A libvirt of its own, which needs root; nobody is asked where there is none.
#[derive(Default)]
pub struct Libvirt {
    running: Option<Daemon>,
    /// Whether it was tried.
    is_tried: bool,
    /// What it prints of machines that were asked for last.
    printed: Vec<(String, Option<Statements>)>,
}

struct Daemon {
    folder: PathBuf,
    child: Child,
}

/// Every element, attribute and text with the path at which it stands.
type Statements = BTreeSet<(String, String)>;

impl Consumer for Libvirt {
    fn classify(&mut self, sound: &str, mutant: &Mutant) -> Classified {
        if !std::mem::replace(&mut self.is_tried, true) {
            self.running = Daemon::start();
        }
        if self.running.is_none() {
            return NOBODY;
        }
        let (before, after) = (machines(sound), machines(&mutant.text));
        if before.len() != after.len() {
            return Classified { effect: Effect::Cuts, by: "rule: each machine is told of once" };
        }
        let mut worst = Effect::Harmless;
        for (before, after) in before.iter().zip(&after).filter(|(before, after)| before != after) {
            let ((before, kept), (after, still_kept)) = (parted(before), parted(after));
            if kept != still_kept {
                return NOBODY;
            }
            let Some(was) = self.print(&before) else { return NOBODY };
            let Some(is) = self.print(&after) else {
                return Classified { effect: Effect::Refused, by: BY };
            };
            // The worse of two is the smaller.
            worst = worst.min(means::effect(&was, &is));
        }
        Classified { effect: worst, by: BY }
    }
}

/// Each machine of a text.
fn machines(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in text.lines() {
        let last = all.len() - 1;
        all[last] += &format!("{line}\n");
        if line.trim() == "</domain>" {
            all.push(String::new());
        }
    }
    all.retain(|one| !one.trim().is_empty());
    all
}

impl Libvirt {
    /// What libvirt prints of a machine; none if it does not take it.
    fn print(&mut self, machine: &str) -> Option<Statements> {
        const MOST: usize = 16;
        if let Some((_, printed)) = self.printed.iter().find(|(of, _)| of == machine) {
            return printed.clone();
        }
        let printed = self.running.as_ref()?.print(machine);
        if self.printed.len() == MOST {
            self.printed.remove(0);
        }
        self.printed.push((machine.to_owned(), printed.clone()));
        printed
    }
}

impl Daemon {
    /// Starts it with folders that nobody else sees.
    fn start() -> Option<Self> {
        // Its first process takes leave of the emulators that are asked what they can: libvirt waits
        // until each of them is gone, and whoever is first on a machine may take its time. They run
        // as a user of their own, who must come to the hypervisor that machines are written for.
        const ROOM: &str = "for d in /run/libvirt /etc/libvirt/qemu /var/lib/libvirt \
                            /var/log/libvirt; do mkdir -p $d; mount -t tmpfs none $d; done; \
                            cp -a /dev/kvm $1/kvm && chmod 666 $1/kvm && \
                            mount --bind $1/kvm /dev/kvm; \
                            libvirtd --config $1/libvirtd.conf --pid-file $1/pid & wait";
        let folder = std::env::temp_dir().join(format!("libvirt-{}", std::process::id()));
        fs::create_dir_all(&folder).ok()?;
        let conf = format!("unix_sock_dir = \"{}\"\nauth_unix_rw = \"none\"\n", folder.display());
        fs::write(folder.join("libvirtd.conf"), conf).ok()?;
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        command.args(["sh", "-c", ROOM, "room"]).arg(&folder);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
        let daemon = Self { folder, child };
        for _ in 0..1000 {
            if daemon.ask("list").is_some() {
                return Some(daemon);
            }
            // It says to nobody when it listens.
            thread::sleep(Duration::from_millis(10));
        }
        None
    }

    fn print(&self, machine: &str) -> Option<Statements> {
        let file = self.folder.join("machine.xml");
        fs::write(&file, machine).ok()?;
        self.ask(&format!("define {}", file.display()))?;
        let known = self.ask("list --all --uuid")?;
        let mut printed = None;
        for uuid in known.split_ascii_whitespace() {
            printed = self.ask(&format!("dumpxml --inactive --security-info {uuid}"));
            self.ask(&format!("undefine --nvram {uuid}"))?;
        }
        statements(&printed?)
    }

    fn ask(&self, what: &str) -> Option<String> {
        let socket = self.folder.join("libvirt-sock");
        let place = format!("qemu:///system?socket={}", socket.display());
        let output = Command::new("virsh").args(["-q", "-c", &place, what]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // One that has ended by itself needs neither.
        drop(self.child.kill());
        drop(self.child.wait());
        drop(fs::remove_dir_all(&self.folder));
    }
}

fn statements(text: &str) -> Option<Statements> {
    let document = Document::parse(text).ok()?;
    let mut all = Statements::new();
    say(document.root_element(), "", &mut all);
    Some(all)
}

fn say(node: Node<'_, '_>, above: &str, all: &mut Statements) {
    let tag = node.tag_name();
    let space = tag.namespace().map(|space| format!("{{{space}}}")).unwrap_or_default();
    let mut path = format!("{above}/{space}{}", tag.name());
    // What a device is, tells it from others of its name.
    let kind = node.attribute("type").filter(|_| above == "/domain/devices");
    if let Some(kind) = kind {
        path = format!("{path}:{kind}");
    }
    all.insert((path.clone(), String::new()));
    for attribute in node.attributes() {
        all.insert((format!("{path}@{}", attribute.name()), attribute.value().to_owned()));
    }
    let text: String =
        node.children().filter_map(|child| child.is_text().then(|| child.text())?).collect();
    if !text.trim().is_empty() {
        all.insert((format!("{path}="), text));
    }
    for child in node.children().filter(Node::is_element) {
        say(child, &path, all);
    }
}
