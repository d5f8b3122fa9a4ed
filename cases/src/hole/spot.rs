//! One line of a world's configurations, and whose things could stand there instead.

use std::net::Ipv4Addr;

use model::{DeviceId, Dialect, JobName, Part, PartText, Service};
use plan::{Group, JobNet, Seat, TenantNet};

use super::Wound;
use crate::{Chance, World};

/// One line of one text of a world.
#[derive(Clone, Copy)]
pub(crate) struct Spot<'a> {
    pub(crate) world: &'a World,
    pub(crate) device: DeviceId,
    pub(crate) part: &'a Part,
    pub(crate) text: &'a str,
    /// Which artifact, which part of it, which line of that.
    at: (usize, usize, usize),
}

impl<'a> Spot<'a> {
    /// Every line of a dialect.
    pub(crate) fn all(world: &'a World, dialect: Dialect) -> impl Iterator<Item = Self> {
        let artifacts = world.artifacts.iter().enumerate();
        let artifacts = artifacts.filter(move |(_, artifact)| artifact.dialect == dialect);
        artifacts.flat_map(move |(a, artifact)| {
            artifact.parts.iter().enumerate().flat_map(move |(p, PartText { part, text })| {
                text.lines().enumerate().map(move |(l, text)| {
                    let device = artifact.device;
                    Self { world, device, part, text, at: (a, p, l) }
                })
            })
        })
    }

    /// The world's texts with these lines in place of this one.
    pub(crate) fn wound(&self, after: Vec<String>) -> Wound {
        let mut artifacts = self.world.artifacts.clone();
        let (artifact, part, line) = self.at;
        let text = &mut artifacts[artifact].parts[part].text;
        let mut lines: Vec<&str> = text.lines().collect();
        lines.splice(line..=line, after.iter().map(String::as_str));
        *text = lines.iter().flat_map(|line| [*line, "\n"]).collect();
        let (part, before) = (self.part.clone(), self.text.to_owned());
        let dialect = self.world.artifacts[artifact].dialect;
        Wound { artifacts, device: self.device, dialect, part, before, after }
    }

    /// The words of the line.
    pub(crate) fn words(&self) -> Vec<&'a str> {
        self.text.split_ascii_whitespace().collect()
    }

    /// Nothing in place of this line, if it begins so.
    pub(crate) fn dropped(&self, begin: &str) -> Option<Vec<String>> {
        self.text.trim_start().starts_with(begin).then(Vec::new)
    }

    /// The line with another word.
    pub(crate) fn with(&self, place: usize, word: impl ToString) -> Option<Vec<String>> {
        let indent = &self.text[..self.text.len() - self.text.trim_start().len()];
        let mut words: Vec<String> = self.words().into_iter().map(Into::into).collect();
        *words.get_mut(place)? = word.to_string();
        Some(vec![format!("{indent}{}", words.join(" "))])
    }

    /// The line and more lines below it.
    pub(crate) fn and(&self, more: impl IntoIterator<Item = String>) -> Option<Vec<String>> {
        Some(std::iter::once(self.text.to_owned()).chain(more).collect())
    }

    /// The job whose part this is.
    pub(crate) fn job(&self) -> Option<(&'a JobName, &'a JobNet)> {
        match self.part {
            Part::Job(name) => Some((name, self.world.plan.jobs.get(name)?)),
            _ => None,
        }
    }

    /// The tenant whose part this is, or whose job's.
    pub(crate) fn tenant(&self) -> Option<&'a TenantNet> {
        match self.part {
            Part::Tenant(name) | Part::Holdings(name) => self.world.plan.tenants.get(name),
            Part::Job(job) => self.world.plan.tenants.get(&job.tenant),
            Part::Head | Part::Node(_) | Part::Whole => None,
        }
    }

    /// Nothing in place of this line, if it begins so and its artifact says it once.
    pub(crate) fn dropped_once(&self, begin: &str) -> Option<Vec<String>> {
        let artifact = &self.world.artifacts[self.at.0];
        let lines = artifact.parts.iter().flat_map(|part| part.text.lines());
        let is_once = lines.filter(|line| *line == self.text).count() == 1;
        self.dropped(begin).filter(|_| is_once)
    }

    /// Whether no other line of the artifact is a contract of these groups.
    pub(crate) fn is_only_contract(&self, asks: &str, answers: &str) -> bool {
        let begin = format!("security contract source {asks} destination {answers} ");
        let artifact = &self.world.artifacts[self.at.0];
        let lines = artifact.parts.iter().flat_map(|part| part.text.lines());
        lines.filter(|line| line.trim_start().starts_with(&begin)).count() == 1
    }

    /// Whether the job has more members than one, so that each must be met.
    pub(crate) fn has_company(&self) -> bool {
        let seats = |job: &JobNet| job.groups.iter().map(|group| group.seats.len()).sum::<usize>();
        self.job().is_some_and(|(_, job)| seats(job) > 1)
    }

    /// Whether members of the job are on other devices too, so that its tunnels matter.
    pub(crate) fn is_stretched(&self) -> bool {
        self.job().is_some_and(|(_, job)| job.groups.len() > 1)
    }

    /// Another job, anywhere.
    pub(crate) fn other(&self, chance: &mut Chance) -> Option<(&'a JobName, &'a JobNet)> {
        self.other_where(chance, |_, _| true)
    }

    /// Another job with such properties.
    pub(crate) fn other_where(
        &self,
        chance: &mut Chance,
        fits: impl Fn(&JobName, &JobNet) -> bool,
    ) -> Option<(&'a JobName, &'a JobNet)> {
        let (own, _) = self.job()?;
        let jobs = self.world.plan.jobs.iter();
        let others: Vec<_> = jobs.filter(|(name, job)| *name != own && fits(name, job)).collect();
        chance.pick(&others).copied()
    }

    /// Another job on this device, with its members here.
    pub(crate) fn other_here(&self, chance: &mut Chance) -> Option<(&'a JobNet, &'a Group)> {
        let here = |job: &'a JobNet| job.groups.iter().find(|group| group.device == self.device);
        let (_, job) = self.other_where(chance, |_, job| {
            job.groups.iter().any(|group| group.device == self.device)
        })?;
        Some((job, here(job)?))
    }

    /// Whose members these are.
    pub(crate) fn owner_of(&self, group: &Group) -> Option<&'a JobName> {
        self.world.owners.ports.get(&(group.device, group.seats.first()?.port))
    }

    /// Whether no other line of the artifact expects the first of these peers: two jobs that
    /// consented may both tell of one.
    pub(crate) fn is_only_to_expect(&self, space: &str, run: &str, tag: &str) -> Option<bool> {
        let first: Ipv4Addr = run.split_once('-')?.0.parse().ok()?;
        let expects = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let ["peers", other, range, .., "tag", group] = words[..] else { return false };
            other == space && group == tag && holds(range, first)
        };
        let artifact = &self.world.artifacts[self.at.0];
        let lines = artifact.parts.iter().flat_map(|part| part.text.lines());
        Some(lines.filter(|line| expects(line)).count() == 1)
    }

    /// Whether no other line of the artifact reaches the first of these addresses.
    pub(crate) fn is_only_to_reach(&self, vrf: &str, run: &str) -> Option<bool> {
        let first: Ipv4Addr = run.split_once('-')?.0.parse().ok()?;
        let reaches = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let ["reach", range, "vrf", other, ..] = words[..] else { return false };
            other == vrf && holds(range, first)
        };
        let artifact = &self.world.artifacts[self.at.0];
        let lines = artifact.parts.iter().flat_map(|part| part.text.lines());
        Some(lines.filter(|line| reaches(line)).count() == 1)
    }

    /// A member of another job of the same tenant.
    pub(crate) fn sibling(&self, chance: &mut Chance) -> Option<(&'a JobNet, &'a Seat)> {
        let (own, _) = self.job()?;
        let (_, job) = self.other_where(chance, |name, _| name.tenant == own.tenant)?;
        let seats: Vec<&Seat> = job.groups.iter().flat_map(|group| &group.seats).collect();
        Some((job, chance.pick(&seats)?))
    }

    /// A tenant that agreed to nothing with the tenant of this part.
    pub(crate) fn stranger(&self, chance: &mut Chance) -> Option<&'a TenantNet> {
        self.other_tenant(chance, false)
    }

    /// Another tenant that agreed to something with the tenant of this part.
    pub(crate) fn partner(&self, chance: &mut Chance) -> Option<&'a TenantNet> {
        self.other_tenant(chance, true)
    }

    fn other_tenant(&self, chance: &mut Chance, agreed: bool) -> Option<&'a TenantNet> {
        let Part::Tenant(own) = self.part else { return None };
        let fits = |other: &model::TenantName| {
            let mut consents = self.world.owners.consents.iter();
            let any = consents.any(|consent| {
                let sides = [&consent.client.tenant, &consent.provider.tenant];
                sides.contains(&own) && sides.contains(&other)
            });
            other != own && any == agreed
        };
        let tenants = self.world.plan.tenants.iter();
        let others: Vec<&TenantNet> =
            tenants.filter(|(name, _)| fits(name)).map(|(_, net)| net).collect();
        chance.pick(&others).copied()
    }

    /// The tag of another job to which this client may not speak at this service.
    pub(crate) fn unpermitted(
        &self,
        client: &str,
        service: Service,
        chance: &mut Chance,
    ) -> Option<u16> {
        let jobs = &self.world.plan.jobs;
        let (asking, _) = jobs.iter().find(|(_, job)| job.tag.to_string() == client)?;
        let agreed = |provider: &JobName| {
            self.world.owners.consents.iter().any(|consent| {
                (&consent.client, &consent.provider, consent.service) == (asking, provider, service)
            })
        };
        let others: Vec<u16> = jobs
            .iter()
            .filter(|(name, _)| *name != asking && !agreed(name))
            .map(|(_, job)| job.tag.get())
            .collect();
        chance.pick(&others).copied()
    }

    /// A route distinguisher that a segment of another job or another device has.
    pub(crate) fn other_distinguisher(&self, chance: &mut Chance) -> Option<String> {
        let own = *self.words().get(1)?;
        let jobs = self.world.plan.jobs.values();
        let all = jobs.flat_map(|job| job.groups.iter().map(move |group| (job, group.device)));
        let all = all.filter_map(|(job, device)| {
            Some(format!("{}:{}", self.world.plan.fleet.vtep(device)?.address, job.tag))
        });
        let others: Vec<String> = all.filter(|rd| rd != own).collect();
        chance.pick(&others).cloned()
    }

    /// The tunnel address of another device.
    pub(crate) fn other_vtep(&self, than: &str, chance: &mut Chance) -> Option<String> {
        let fleet = &self.world.plan.fleet;
        let vteps = fleet.devices().filter_map(|device| fleet.vtep(device));
        let all: Vec<String> = vteps.map(|vtep| vtep.address.to_string()).collect();
        let others: Vec<&String> = all.iter().filter(|vtep| *vtep != than).collect();
        chance.pick(&others).map(ToString::to_string)
    }
}

/// Whether a run of addresses, written `first-last`, holds this one.
fn holds(run: &str, address: Ipv4Addr) -> bool {
    let ends = run.split_once('-').map(|(a, b)| (a.parse(), b.parse::<Ipv4Addr>()));
    matches!(ends, Some((Ok(low), Ok(high))) if (low..=high).contains(&address))
}
