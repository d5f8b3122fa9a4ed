//! What an edit of partitions.conf does: a real subnet manager on a simulated fabric writes the
//! tables of keys, and they are read from the ports.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{PipeWriter, pipe};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use super::edit::{Edit, edited, with};
use super::insert::Accepted;
use super::{Classified, Consumer, Effect, Mutant, MutantKind};
use crate::Chance;

/// What the subnet manager accepts, hostile or not; it says itself what it does.
pub(super) const ACCEPTED: &[Accepted] = &[
    any("x=0x0100 : ALL=full ;"),
    any("x=0x0100 : ALL=limited ;"),
    any("x=0x0100 : ALL_CAS=full ;"),
    any("x=0x0100 : ALL_SWITCHES=full ;"),
    any("x=0x0100 : SELF=full ;"),
    any("x=0x0100 : ;"),
    any("x : ALL ;"),
    any("x=0x0100, defmember=full : ALL ;"),
    any("x=0x0100, defmember=both : ALL ;"),
    any("Default=0x7fff : ALL=full ;"),
    any("Default=0x7fff : ALL=full, SELF=full ;"),
    any("Default=0xffff : ALL, SELF=full ;"),
    any("Default=32767 : ALL=full ;"),
    any("Default=0x7fff : ALL=limited ;"),
    any("Default=0x7fff : SELF=limited ;"),
    any("Default=0x7fff : SELF=full ;"),
    any("Default=0x7fff : ALL_CAS=full ;"),
    any("Default=0x7fff : ALL_SWITCHES=limited ;"),
    any("Default=0x7fff, defmember=full : ALL ;"),
    any("Default=0x7fff, indx0 : ALL=limited, SELF=full ;"),
    any("D=077777 : A=f ;"),
    any("x=0x0100 : 0x0000000000000000=full ;"),
    any("x=0x0100 : 0x1=full ;"),
    any("nothing that anybody knows"),
    any("x=0x0100 : NONE ;"),
    any(";"),
    any("# a comment with ; and : in it"),
    any("  "),
];

const fn any(line: &'static str) -> Accepted {
    Accepted { behind: "", line, effect: Effect::Opens }
}

/// An edit that only this dialect has; none where chance came upon a line without such a place.
pub(super) fn edit(lines: &[&str], at: usize, chance: &mut Chance) -> Option<Edit> {
    let line = lines[at];
    let (head, members) = line.split_once(':')?;
    let (name, key) = head.split_once('=')?;
    let key = key.split(',').next()?.trim();
    let number = u16::from_str_radix(key.strip_prefix("0x")?, 16).ok()?;
    let ports: Vec<&str> =
        lines.iter().flat_map(|line| line.split([' ', ',', '='])).filter(is_port).collect();
    let port = chance.pick(&ports)?;
    let (between, change, insert) = (MutantKind::Between, MutantKind::Change, MutantKind::Insert);
    let keyed = |new: String| line.replacen(key, &new, 1);
    let (kind, new) = match chance.below(30) {
        0 => (between, keyed(format!("{number}"))),
        1 => (between, keyed(format!("0{number:o}"))),
        2 => (between, keyed(format!("{:#06x}", number | 0x8000))),
        3 => (between, keyed(format!("0X{number:04X}"))),
        4 => (between, keyed(format!("{number:#x}"))),
        5 => (between, line.replace("0x02", "0X02")),
        6 => (between, line.replace("0x02", "0x2")),
        7 => (between, line.replace("=full", "=f")),
        8 => (between, line.replace("=full", "=")),
        9 => (change, line.replace("=full", "=Full")),
        10 => (change, line.replace("=full", "=both")),
        11 => (change, line.replacen("=full", "=limited", 1 + chance.below(3))),
        12 => (change, line.replacen("=full", "", 1)),
        13 => (between, line.replacen(", ", ",\n\t", 1 + chance.below(4))),
        14 => (between, line.replacen(", ", "\n  ", 1)),
        15 => (between, line.replace(" ;", ",\n;")),
        16 => (between, line.replace(" ;", ", ;")),
        17 => (between, line.replace(" ;", " ; # why")),
        18 => (change, line.replace(" ;", " # ;")),
        19 => (change, line.replace(" ;", "")),
        20 => (between, line.replace(" : ", ":").replace(", ", ",").replace(" ;", ";")),
        21 => (between, format!("{line}\n# {}", "x".repeat(chance.below(9000)))),
        22 => (between, format!("{}#{}", &line[..name.len()], &line[name.len()..])),
        23 => (between, line.replacen(name, "another-name_1", 1)),
        24 => (insert, line.replacen(" :", ", ipoib, mtu=4, rate=7 :", 1)),
        25 => (insert, line.replacen(" :", ", indx0 :", 1)),
        26 => (insert, format!("{line}\n{name}={key} : {port}=limited ;")),
        27 => (insert, format!("{line}\n{name}={key} : {port}=full ;")),
        28 => (insert, format!("{}: {port}=full,{members}", head)),
        _ => (between, format!("{line} {}", lines.get(at + 1).copied().unwrap_or("x"))),
    };
    if new == line {
        return None;
    }
    // The next line went up to this one.
    if new.contains(" ; ") && kind == between && at + 1 < lines.len() && !new.contains('#') {
        let mut kept = lines.to_vec();
        kept.remove(at + 1);
        return Some((kind, format!("{line} -> {new}"), with(&kept, at, &[&new])));
    }
    edited(kind, lines, at, &new)
}

fn is_port(word: &&str) -> bool {
    word.len() == 18 && word.starts_with("0x")
}

const BY: &str = "opensm, by smpquery pkeys";
const NOBODY: Classified = Classified { effect: Effect::Refused, by: "rule: nobody was asked" };
/// What makes a program speak with the simulated fabric.
const FABRIC: &str = "/usr/lib/x86_64-linux-gnu/umad2sim/libumad2sim.so";
const MANAGER: &str = "Hca0";

/// By port: its keys in their places, as the port itself holds them.
type Tables = Vec<Vec<u16>>;

/// A real subnet manager on a simulated fabric with the ports of a text. `opensm`, `ibsim` and
/// `smpquery` are asked where they are; nobody is where they are not.
#[derive(Default)]
pub struct OpenSm {
    running: Option<Fabric>,
    /// What the ports hold by a sound text.
    sound: (String, Tables),
}

struct Fabric {
    folder: PathBuf,
    children: Vec<Child>,
    /// The simulator ends when nobody could tell it anything more.
    _console: PipeWriter,
    lids: Vec<String>,
}

impl Consumer for OpenSm {
    fn classify(&mut self, sound: &str, mutant: &Mutant) -> Classified {
        if self.sound.0 != sound {
            self.running = None;
            self.running = Fabric::start(sound);
            let tables = self.running.as_mut().and_then(|fabric| fabric.tables(sound));
            self.sound = (sound.to_owned(), tables.unwrap_or_default());
        }
        let after = self.running.as_mut().and_then(|fabric| fabric.tables(&mutant.text));
        match after {
            Some(after) => Classified { effect: effect(&self.sound.1, &after), by: BY },
            None => NOBODY,
        }
    }
}

/// Who can meet whom: a full member with all of its partition, a limited one with full ones.
fn effect(before: &Tables, after: &Tables) -> Effect {
    let (was, is) = (meetings(before), meetings(after));
    let first =
        |tables: &Tables| -> Vec<_> { tables.iter().map(|keys| keys.first().copied()).collect() };
    let lacks = before.iter().zip(after).any(|(was, is)| {
        let has = |keys: &[u16], key: u16| keys.iter().any(|one| one & 0x7fff == key & 0x7fff);
        was.iter().any(|key| !has(is, *key))
    });
    // Interfaces that were told no partition take the first of the table.
    if !is.is_subset(&was) || bases(&first(before)) != bases(&first(after)) {
        Effect::Opens
    } else if !was.is_subset(&is) || lacks {
        Effect::Cuts
    } else {
        Effect::Harmless
    }
}

fn bases(keys: &[Option<u16>]) -> Vec<Option<u16>> {
    keys.iter().map(|key| key.map(|key| key & 0x7fff)).collect()
}

fn meetings(tables: &Tables) -> BTreeSet<(usize, usize)> {
    let mut members: BTreeMap<u16, Vec<(usize, bool)>> = BTreeMap::new();
    for (port, keys) in tables.iter().enumerate() {
        for key in keys {
            members.entry(key & 0x7fff).or_default().push((port, key & 0x8000 != 0));
        }
    }
    let mut meet = BTreeSet::new();
    for members in members.values() {
        for (one, is_full) in members.iter().filter(|(_, is_full)| *is_full) {
            debug_assert!(is_full);
            let others = members.iter().filter(|(other, _)| other != one);
            meet.extend(others.map(|(other, _)| (*one.min(other), *one.max(other))));
        }
    }
    meet
}

impl Fabric {
    /// Starts the simulator with one adapter for each port of a text and one for the manager.
    fn start(sound: &str) -> Option<Self> {
        let words = sound.split([' ', ',', '=']).filter(is_port);
        let ports: BTreeSet<u64> =
            words.filter_map(|word| u64::from_str_radix(&word[2..], 16).ok()).collect();
        let folder = std::env::temp_dir().join(format!("opensm-{}", std::process::id()));
        fs::create_dir_all(&folder).ok()?;
        fs::write(folder.join("net"), net(&ports)).ok()?;
        fs::write(folder.join("partitions.conf"), sound).ok()?;
        let (reader, console) = pipe().ok()?;
        let mut simulator = Command::new("ibsim");
        simulator.arg("-s").arg(folder.join("net")).stdin(reader);
        let children = vec![quiet(&mut simulator).spawn().ok()?];
        let mut fabric = Self { folder, children, _console: console, lids: Vec::new() };
        for _ in 0..PATIENCE {
            if fabric.ask("exec ibnetdiscover").is_some_and(|said| said.contains(MANAGER)) {
                break;
            }
            thread::sleep(A_MOMENT);
        }
        let mut manager = fabric.on_it("opensm");
        manager.args(["-g", "0", "-s", "0", "-D", "0x03", "-d2", "-P"]);
        manager.arg(fabric.folder.join("partitions.conf"));
        manager.arg("-f").arg(fabric.folder.join("log"));
        fabric.children.push(quiet(&mut manager).spawn().ok()?);
        fabric.wait_for(1)?;
        let seen = fabric.ask("exec ibnetdiscover")?;
        let lid = |name: String| {
            let line = seen.lines().find(|line| line.contains(&name) && line.contains(" lid "))?;
            line.split(" lid ").nth(1)?.split(' ').next().map(str::to_owned)
        };
        fabric.lids = (0..=ports.len())
            .map(|number| lid(format!("# \"Hca{number}\" lid ")))
            .collect::<Option<_>>()?;
        Some(fabric)
    }

    /// What ports hold after the subnet manager read a text.
    fn tables(&mut self, text: &str) -> Option<Tables> {
        let before = self.ups();
        fs::write(self.folder.join("partitions.conf"), text).ok()?;
        let manager = self.children.get(1)?.id().to_string();
        Command::new("kill").args(["-HUP", &manager]).status().ok()?;
        self.wait_for(before + 1)?;
        let mut script = String::new();
        for lid in &self.lids {
            let _ = writeln!(script, "echo ===; smpquery pkeys {lid} 1");
        }
        let said = self.ask(&script)?;
        let keys = |port: &str| {
            let words = port.split_ascii_whitespace().filter_map(|word| word.strip_prefix("0x"));
            let keys = words.filter_map(|word| u16::from_str_radix(word, 16).ok());
            keys.filter(|key| *key != 0).collect()
        };
        let tables: Tables = said.split("===\n").skip(1).map(keys).collect();
        (tables.len() == self.lids.len()).then_some(tables)
    }

    fn on_it(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("LD_PRELOAD", FABRIC).env("SIM_HOST", MANAGER).current_dir(&self.folder);
        command.env("OSM_TMP_DIR", &self.folder).env("OSM_CACHE_DIR", &self.folder);
        command
    }

    fn ask(&self, script: &str) -> Option<String> {
        let output = self.on_it("sh").arg("-c").arg(script).output().ok()?;
        String::from_utf8(output.stdout).ok()
    }

    /// How often the fabric was up.
    fn ups(&self) -> usize {
        let log = fs::read(self.folder.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log).matches("-> SUBNET UP").count()
    }

    fn wait_for(&self, ups: usize) -> Option<()> {
        for _ in 0..PATIENCE {
            if self.ups() >= ups {
                return Some(());
            }
            thread::sleep(A_MOMENT);
        }
        None
    }
}

/// The log is the only one who says when the manager is done.
const A_MOMENT: Duration = Duration::from_millis(5);
const PATIENCE: usize = 6000;

impl Drop for Fabric {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            // One that has ended by itself needs neither.
            drop(child.kill());
            drop(child.wait());
        }
        drop(fs::remove_dir_all(&self.folder));
    }
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdout(Stdio::null()).stderr(Stdio::null())
}

/// The fabric as the simulator reads it: every adapter has one port, whose id is one more.
fn net(ports: &BTreeSet<u64>) -> String {
    const OWN: u64 = 0x10_0000;
    let nodes: Vec<u64> = [OWN].into_iter().chain(ports.iter().map(|port| port - 1)).collect();
    let mut net = format!("switchguid=0x200000\nSwitch {} \"sw\"\n", nodes.len());
    for number in 0..nodes.len() {
        let _ = writeln!(net, "[{}] \"Hca{number}\"[1]", number + 1);
    }
    for (number, guid) in nodes.iter().enumerate() {
        let port = number + 1;
        let _ = write!(net, "\ncaguid={guid:#x}\nHca 1 \"Hca{number}\"\n[1] \"sw\"[{port}]\n");
    }
    net
}
