//! Random sound worlds: no findings; one random cut: always found; and after random sequences of
//! changes the verifier that judged only what changed says the same as a fresh one.

use std::collections::BTreeSet;

use model::{Grade, JobName, Share};
use read::{DeviceFile, Hold};
use verify::{Code, Finding};

use crate::world::{BOARD, Sheet, World, bits};

#[test]
fn a_sound_world_has_no_findings_and_a_cut_is_always_found() {
    let mut cuts = 0;
    for seed in 0..150 {
        let mut chance = Chance(seed);
        let world = sound(&mut chance);
        assert_eq!(layers(world.verifier().judge()), [], "seed {seed}");
        for _ in 0..20 {
            let mut broken = world.clone();
            let Some(line) = cut(&mut broken, &mut chance) else { continue };
            let found = layers(broken.verifier().judge());
            assert!(!found.is_empty(), "seed {seed}: nobody found that {line}");
            for said in found.iter().flat_map(|finding| &finding.present) {
                broken.quote(said);
            }
            cuts += 1;
        }
    }
    assert!(cuts > 2000, "only {cuts} cuts were tried");
}

#[test]
fn judging_what_changed_equals_judging_everything() {
    for seed in 0..60 {
        let mut chance = Chance(seed ^ 0xbeef);
        let sound = sound(&mut chance);
        let mut world = sound.clone();
        let mut kept = world.verifier();
        kept.judge();
        for step in 0..15 {
            match chance.below(4) {
                0 => {
                    world.sheets.clone_from(&sound.sheets);
                    world.owners.clone_from(&sound.owners);
                    for (node, jobs) in &sound.owners.shares {
                        jobs.iter().for_each(|(job, share)| kept.share(*node, job, Some(*share)));
                    }
                    for (tenant, trust) in &sound.owners.trusts {
                        kept.trust(tenant, trust.clone());
                    }
                    world.sheets.iter().for_each(|sheet| world.take(&mut kept, sheet));
                }
                1 => {
                    let (node, job) = world.any_share(&mut chance);
                    let share = Share { gpus: chance.roll() & 0xff, nics: chance.roll() & 0xff };
                    let share = (chance.below(2) == 0).then_some(share);
                    let jobs = world.owners.shares.get_mut(&node).unwrap();
                    match share {
                        Some(share) => jobs.insert(job.clone(), share),
                        None => jobs.remove(&job),
                    };
                    kept.share(node, &job, share);
                }
                2 => {
                    let (_, job) = world.any_share(&mut chance);
                    let grade = Grade::ALL[chance.below(5)];
                    world.tenant(job.tenant.as_str(), grade, None);
                    let trust = world.owners.trusts[&job.tenant].clone();
                    kept.trust(&job.tenant, trust);
                }
                _ => {
                    let before = world.sheets.clone();
                    cut(&mut world, &mut chance);
                    let changed = world.sheets.iter().filter(|sheet| !before.contains(sheet));
                    changed.for_each(|sheet| world.take(&mut kept, sheet));
                }
            }
            // The fresh one reads in another order, which must not matter.
            let mut anew = world.clone();
            anew.sheets.reverse();
            let mut fresh = anew.verifier();
            let (kept, fresh) = (kept.judge(), fresh.judge());
            assert_eq!(world.show_any(&kept), world.show_any(&fresh), "seed {seed}, step {step}");
            assert_eq!(kept, fresh, "seed {seed}, step {step}: the evidence differs");
        }
    }
}

fn layers(findings: Vec<Finding>) -> Vec<Finding> {
    findings.into_iter().filter(|finding| finding.code() != Code::Silent).collect()
}

impl World {
    fn show_any(&self, findings: &[Finding]) -> Vec<String> {
        findings.iter().map(|finding| finding.sentence(&self.fleet)).collect()
    }

    fn any_share(&self, chance: &mut Chance) -> (model::NodeId, JobName) {
        let all: Vec<_> = self
            .sheets
            .iter()
            .filter_map(|sheet| match &sheet.part {
                model::Part::Job(job) => Some((self.fleet.node_of(sheet.device)?, job.clone())),
                _ => None,
            })
            .filter(|(node, _)| self.owners.shares.contains_key(node))
            .collect();
        all[chance.below(all.len())].clone()
    }
}

/// A world in which everybody has sets that their boards can join, with neighbours that their
/// grades allow.
fn sound(chance: &mut Chance) -> World {
    let (boards, trays) = (1 + chance.below(4), chance.below(4));
    let mut world = World::new(boards, trays);
    let tenants = [
        ("red", Grade::Gpu),
        ("blue", Grade::Slice),
        ("green", Grade::Node),
        ("gold", Grade::Domain),
        ("pink", Grade::Shared),
        ("teal", Grade::Shared),
    ];
    for (tenant, grade) in tenants {
        world.tenant(tenant, grade, None);
    }
    for board in 1..=boards {
        let friends: &[&str] = match chance.below(4) {
            0 => &["red", "blue"],
            1 => &["green"],
            2 => &["gold"],
            _ => &["pink", "teal"],
        };
        let mut taken = 0;
        for number in 0..6 {
            let gpus = BOARD[chance.below(BOARD.len())];
            if gpus & taken == 0 {
                taken |= gpus;
                let tenant = friends[chance.below(friends.len())];
                // A job with a name of its own on each board, or one that is on several.
                let job = match chance.below(3) {
                    0 => format!("{tenant}/wide{number}"),
                    _ => format!("{tenant}/b{board}-{number}"),
                };
                world.give(&job, &format!("n{board}"), gpus);
            }
        }
    }
    let wide = chance.below(2) == 0;
    for tray in 1..=trays {
        let job = if wide { "gold/rack".into() } else { format!("green/tray{tray}") };
        world.give(&job, &format!("t{tray}"), 0x0f);
    }
    world.settle();
    world
}

/// Breaks one line that matters, and says which.
fn cut(world: &mut World, chance: &mut Chance) -> Option<String> {
    let sheet = chance.below(world.sheets.len());
    let line = chance.below(world.sheets[sheet].lines.len().max(1));
    let held = world.sheets[sheet].lines.get(line)?.clone();
    let broken = harm(world, &world.sheets[sheet], &held, chance)?;
    let told = format!("{held} became {broken:?}");
    world.sheets[sheet].lines.splice(line..=line, broken);
    Some(told)
}

/// What a line becomes that must be found: nothing, or something else.
fn harm(world: &World, sheet: &Sheet, line: &Hold, chance: &mut Chance) -> Option<Option<Hold>> {
    let gone = chance.below(2) == 0;
    let mut other = line.clone();
    match &mut other {
        Hold::Function { group, .. } if !gone => *group += 1,
        Hold::Driven { driver, .. } if !gone => {
            *driver = if driver == "nvidia" { "vfio-pci" } else { "nvidia" }.into();
        }
        Hold::Runs { version, .. } if !gone => *version = "1".into(),
        Hold::BootedSecurely(securely) => *securely = false,
        Hold::Joinable { partition, gpus } => {
            let is_active = world.sheets.iter().any(|other| {
                other.device == sheet.device
                    && other.lines.contains(&Hold::Active { partition: *partition })
            });
            if !is_active {
                return None;
            }
            *gpus ^= 1 << chance.below(8);
        }
        Hold::Active { partition } if !gone => {
            *partition = (*partition + 1 + chance.below(14) as u16) % 15;
        }
        Hold::Linked { gpus, .. } if !gone => *gpus ^= 1 << chance.below(4),
        Hold::Channel { channel, .. } if !gone => *channel += 1,
        Hold::Member { pkey, .. } if !gone => *pkey = 0x7fff,
        Hold::EveryMember { full, .. } => *full = true,
        Hold::Opens { file: DeviceFile::Gpu(number) | DeviceFile::Verbs(number), .. } if !gone => {
            *number = (*number + 1 + chance.below(3) as u16) % 4;
        }
        Hold::Opens { file, .. } if !gone => *file = DeviceFile::Many("/dev".into()),
        Hold::GuestHas { pci, .. } if !gone => pci.bus ^= 1,
        Hold::GuestNear { numa, .. } => *numa += 7,
        Hold::Guest { confidential, .. } | Hold::ClusterGuest { confidential, .. } => {
            *confidential = Some(model::Confidential::SevSnp);
        }
        Hold::Together { nodes, .. } => nodes.push("n99".parse().unwrap()),
        Hold::ConstrainsDevices(does) | Hold::KeepsLabelsApart(does) if !gone => *does = false,
        Hold::SlurmSays { value, .. } if !gone => *value = "another".into(),
        Hold::Partition { accounts, .. } if !gone => accounts.push("nobody".into()),
        Hold::Reserved { nodes, .. } if !gone => drop(nodes.pop()),
        Hold::Allocated { minors, .. } => {
            let flipped = *minors ^ 1 << chance.below(4);
            // A job that the scheduler does not name yet waits.
            if flipped == 0 {
                return None;
            }
            *minors = flipped;
        }
        Hold::Claimed { gpu: read::ClaimedGpu::At { pci, .. }, .. } if !gone => pci.bus ^= 1,
        Hold::GuestTakes { request, .. } if !gone => request.minor += 1,
        Hold::Admits { namespace, .. } if !gone => *namespace = "strangers".parse().unwrap(),
        Hold::Fenced { value, .. } if !gone => *value = "strangers".into(),
        Hold::Governed { runtime, .. } if !gone => {
            *runtime = match runtime {
                model::Runtime::Container => model::Runtime::Vm,
                model::Runtime::Vm => model::Runtime::Container,
            };
        }
        Hold::GpuQuota { gpus, .. } if !gone => *gpus += 1,
        Hold::Lets { peer, .. } => *peer = read::Peer::Anyone,
        Hold::StrictTls { strict, .. } if !gone => *strict = false,
        Hold::MeshLets { callers, .. } if !gone => callers.push("kube-system".parse().unwrap()),
        Hold::Restricted { restricted, .. } if !gone => *restricted = false,
        Hold::Role { group, .. } => *group = "strangers".into(),
        Hold::Volumes { tenant, .. } | Hold::ControlPlane { tenant, .. } => {
            *tenant = "strangers".parse().unwrap();
        }
        Hold::Label { value, .. } => *value = "elsewhere".into(),
        _ => return Some(None),
    }
    (other != *line).then_some(Some(other))
}

/// Numbers that look random and are the same for the same seed (splitmix64).
struct Chance(u64);

impl Chance {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound.max(1) as u64) as usize
    }
}

#[test]
fn the_worlds_are_not_all_alike() {
    let jobs: BTreeSet<usize> =
        (0..50).map(|seed| sound(&mut Chance(seed)).jobs().count()).collect();
    assert!(jobs.len() > 5 && bits(0b101).eq([0, 2]), "{jobs:?}");
}
