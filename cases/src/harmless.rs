//! Changes of a sound world's texts that let nothing more and nothing less through.

use model::{Artifact, Dialect, PartText};

use crate::{Chance, World};

/// One kind of change.
#[derive(Clone, Copy, Debug)]
pub struct Harmless {
    /// What is different afterwards.
    pub name: &'static str,
    /// Changes an artifact; none where there is nothing to change.
    change: fn(&mut Artifact, &mut Chance) -> Option<()>,
}

/// Every kind of harmless change.
pub const HARMLESS: &[Harmless] = &[
    Harmless {
        name: "a comment",
        change: |artifact, chance| {
            let comment = format!(" {} looked at it on Monday", sign(artifact.dialect));
            insert(artifact, chance, &comment)
        },
    },
    Harmless { name: "an empty line", change: |artifact, chance| insert(artifact, chance, "") },
    Harmless {
        name: "spaces at the end of a line",
        change: |artifact, chance| {
            change_line(artifact, chance, |_, line| Some(format!("{line}  \n")))
        },
    },
    Harmless {
        name: "another description",
        change: |artifact, chance| {
            change_line(artifact, chance, |_, line| {
                let (before, _) = line.split_once("description ")?;
                Some(format!("{before}description moved here by night\n"))
            })
        },
    },
    Harmless {
        name: "what a switch prints besides",
        change: |artifact, chance| {
            (artifact.dialect == Dialect::Nxos).then_some(())?;
            let line = chance.pick(PRINTED)?;
            let part = chance.below(artifact.parts.len());
            artifact.parts[part].text.push_str(line);
            Some(())
        },
    },
    Harmless {
        name: "a contract with the word that a switch does not print",
        change: |artifact, chance| {
            (artifact.dialect == Dialect::Nxos).then_some(())?;
            change_line(artifact, chance, |_, line| {
                line.contains("security contract").then(|| format!("{line} bidir\n"))
            })
        },
    },
    Harmless {
        name: "a gateway that takes longer frames",
        change: |artifact, chance| {
            (artifact.dialect == Dialect::Nxos).then_some(())?;
            change_line(artifact, chance, |_, line| {
                line.starts_with("interface Vlan").then(|| format!("{line}\n  mtu 9216\n"))
            })
        },
    },
    Harmless {
        name: "the rate of a tenant that is not here",
        change: |artifact, chance| {
            let is_table = artifact.dialect == Dialect::Table;
            is_table.then(|| insert(artifact, chance, "rate t5000 ceiling 1"))?
        },
    },
    Harmless {
        name: "the class of a job that is not here",
        change: |artifact, chance| {
            let is_table = artifact.dialect == Dialect::Table;
            is_table.then(|| insert(artifact, chance, "job t1 59999 class bulk"))?
        },
    },
    Harmless {
        name: "a line said twice",
        change: |artifact, chance| {
            change_line(artifact, chance, |dialect, line| {
                is_repeatable(dialect, line).then(|| format!("{line}\n{line}\n"))
            })
        },
    },
    Harmless {
        name: "an ignored line at the end",
        change: |artifact, chance| {
            let line = match artifact.dialect {
                Dialect::Nxos => "feature dhcp\n",
                Dialect::Frr => "log syslog informational\n",
                _ => "# the end\n",
            };
            let part = chance.below(artifact.parts.len());
            artifact.parts[part].text.push_str(line);
            Some(())
        },
    },
    Harmless {
        name: "options in another order",
        change: |artifact, chance| {
            change_line(artifact, chance, |_, line| {
                let (before, after) = line.split_once("nolearning tos inherit gbp")?;
                Some(format!("{before}gbp tos inherit nolearning{after}\n"))
            })
        },
    },
    Harmless {
        name: "parts in another order",
        change: |artifact, chance| {
            // FRR reads by what stands first.
            let first = usize::from(artifact.dialect == Dialect::Frr);
            let parts = artifact.parts.get_mut(first..)?;
            (parts.len() > 1).then(|| shuffle(parts, chance))
        },
    },
    Harmless {
        name: "blocks in another order",
        change: |artifact, chance| {
            let part = chance.below(artifact.parts.len());
            let text = &mut artifact.parts[part].text;
            let mut blocks = blocks(text);
            // FRR reads what stands behind these by them.
            let first = blocks.iter().take_while(|block| block.starts_with("frr ")).count();
            shuffle(&mut blocks[first..], chance);
            let shuffled = blocks.concat();
            (*text != shuffled).then(|| *text = shuffled)
        },
    },
];

/// What a switch prints that is its operator's own.
const PRINTED: &[&str] = &[
    "version 10.4(3) Bios:version 01.10\n",
    "vdc leaf-1 id 1\n  limit-resource vlan minimum 16 maximum 4094\n",
    "no password strength-check\n",
    "username admin password 5 $5$JKLMNO$kq1 role network-admin\n",
    "snmp-server user admin network-admin auth md5 0x8f2e priv 0x8f2e localizedkey\n",
    "vlan 1,100-105\n",
    "vrf context management\n  ip route 0.0.0.0/0 192.168.1.1\n",
    "interface mgmt0\n  vrf member management\n  ip address 192.168.1.11/24\n",
    "interface Ethernet1/61\n  shutdown\n",
    "line vty\n  exec-timeout 30\n",
    "boot nxos bootflash:/nxos64-cs.10.4.3.F.bin\n",
    "copp profile strict\n",
    "feature lldp\n",
];

impl Harmless {
    /// Changes some text of a world; none if it has no place for such a change.
    pub fn change(&self, world: &World, chance: &mut Chance) -> Option<Vec<Artifact>> {
        let mut artifacts = world.artifacts.clone();
        let mut order: Vec<usize> = (0..artifacts.len()).collect();
        shuffle(&mut order, chance);
        order.into_iter().find_map(|at| (self.change)(&mut artifacts[at], chance))?;
        Some(artifacts)
    }
}

const fn sign(dialect: Dialect) -> char {
    match dialect {
        Dialect::Nxos | Dialect::Frr => '!',
        _ => '#',
    }
}

/// Whether saying the line twice says no more than once. A line that opens or closes a block
/// is none of these, because another block would be open below it.
fn is_repeatable(dialect: Dialect, line: &str) -> bool {
    let begins: &[&str] = match dialect {
        Dialect::Nxos => &[
            "feature ",
            "ip address ",
            "ip source binding ",
            "ip verify ",
            "match ",
            "network ",
            "rd ",
            "remote-as ",
            "route-target ",
            "security ",
            "switchport ",
            "vn-segment ",
        ],
        Dialect::Frr => &["ip address ", "neighbor ", "network ", "rd ", "route-target "],
        _ => &[""],
    };
    begins.iter().any(|begin| line.trim_start().starts_with(begin))
}

/// Puts a line in front of any other.
fn insert(artifact: &mut Artifact, chance: &mut Chance, new: &str) -> Option<()> {
    change_line(artifact, chance, |_, line| Some(format!("{new}\n{line}\n")))
}

/// Puts other lines in place of one that can be changed so.
fn change_line(
    artifact: &mut Artifact,
    chance: &mut Chance,
    change: impl Fn(Dialect, &str) -> Option<String>,
) -> Option<()> {
    let dialect = artifact.dialect;
    let mut places: Vec<(usize, usize, String)> = Vec::new();
    for (at, PartText { text, .. }) in artifact.parts.iter().enumerate() {
        let changed = text.lines().enumerate();
        let changed = changed.filter_map(|(line, held)| Some((at, line, change(dialect, held)?)));
        places.extend(changed);
    }
    let (part, line, new) = chance.pick(&places)?;
    let text = &mut artifact.parts[*part].text;
    let lines = text.split_inclusive('\n').enumerate();
    *text = lines.map(|(at, held)| if at == *line { new.as_str() } else { held }).collect();
    Some(())
}

/// The blocks of a text: a line that is not indented, and all that belongs to it.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        match blocks.last_mut() {
            Some(block) if line.starts_with(' ') || line.starts_with("exit") => {
                block.push_str(line)
            }
            _ => blocks.push(line.into()),
        }
    }
    blocks
}

fn shuffle<T>(list: &mut [T], chance: &mut Chance) {
    for last in (1..list.len()).rev() {
        list.swap(last, chance.below(last + 1));
    }
}
