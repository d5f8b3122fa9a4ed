//! Tenants as a search for a place sees them: what each may use, and whom it avoids.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    ApartLevel, Capacity, Grade, Tenant, TenantName, VersionPolicy, Versions, compare_versions,
};
use smol_str::SmolStr;

use super::map::Map;
use super::quota::Account;

/// A tenant on this ground: a small number is compared faster than a name.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct TenantKey(pub(crate) u32);

impl TenantKey {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// All tenants with what they may use and what they hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct People {
    keys: BTreeMap<TenantName, TenantKey>,
    list: Vec<Person>,
    /// They stand by themselves, so that a look up the lineage touches little memory.
    accounts: Vec<Account>,
    /// GPUs that are reserved and not used, of all tenants together.
    kept: u64,
    tastes: BTreeMap<Vec<bool>, Arc<Taste>>,
}

/// One tenant. What a search does not need stands elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) grade: Grade,
    pub(crate) taste: Arc<Taste>,
    /// Whom it must stay away from, and where: its own words and theirs.
    pub(crate) apart: Vec<(TenantKey, ApartLevel)>,
    /// Partly used nodes that nobody else may use, by pool and rank.
    pub(crate) parts: BTreeSet<(u32, usize, u32)>,
    /// Leaves that nobody else may use.
    pub(crate) leaves: BTreeSet<u32>,
    pub(crate) said: Box<Said>,
}

/// What a tenant said of itself.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) name: TenantName,
    pub(crate) versions: VersionPolicy,
    pub(crate) jurisdictions: Vec<SmolStr>,
    /// The pools under a law it accepts.
    pub(crate) pools: Vec<u32>,
}

/// Which software is good enough: the same for all tenants that demand the same.
#[derive(Debug)]
pub(crate) struct Taste {
    /// Whether each software of the map is.
    pub(crate) software: Vec<bool>,
    /// The nodes of each block whose software is.
    pub(crate) good: Vec<u64>,
    /// The most such nodes below one leaf, by pool.
    pub(crate) largest_leaf: Vec<u32>,
}

impl Taste {
    fn new(map: &Map, software: &[bool]) -> Self {
        let is_good = |class: u16| software[usize::from(class)];
        let good = map.blocks.iter().map(|block| {
            let good = block.software.iter().filter(|(class, _)| is_good(*class));
            good.fold(0, |mask, (_, nodes)| mask | nodes)
        });
        let good: Vec<u64> = good.collect();
        let mut largest_leaf = vec![0; map.pools.len()];
        for leaf in &map.leaves {
            let blocks = leaf.blocks.start as usize..leaf.blocks.end as usize;
            let nodes: u32 = good[blocks].iter().map(|nodes| nodes.count_ones()).sum();
            let largest = &mut largest_leaf[leaf.pool as usize];
            *largest = nodes.max(*largest);
        }
        Self { software: software.to_vec(), good, largest_leaf }
    }
}

impl Person {
    /// Whether it shares a host with others.
    pub(crate) fn shares_host(&self) -> bool {
        self.grade >= Grade::Gpu
    }

    /// Whether it shares a GPU with others.
    pub(crate) fn shares_gpu(&self) -> bool {
        self.grade >= Grade::Slice
    }

    /// Whether it wants its leaf for itself.
    pub(crate) fn keys_leaf(&self) -> bool {
        self.grade == Grade::Domain
    }
}

impl People {
    pub(crate) fn new(map: &Map, tenants: &BTreeMap<TenantName, Tenant>) -> Self {
        let mut people = Self::default();
        for tenant in tenants.values() {
            people.add(map, tenant);
        }
        for tenant in tenants.values() {
            for apart in &tenant.apart {
                people.keep_apart(&tenant.name, &apart.from, apart.level);
            }
        }
        people
    }

    pub(crate) fn key(&self, name: &TenantName) -> Option<TenantKey> {
        self.keys.get(name).copied()
    }

    pub(crate) fn at(&self, key: TenantKey) -> &Person {
        &self.list[key.index()]
    }

    pub(crate) fn at_mut(&mut self, key: TenantKey) -> &mut Person {
        &mut self.list[key.index()]
    }

    pub(crate) fn account(&self, key: TenantKey) -> &Account {
        &self.accounts[key.index()]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Person> {
        self.list.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Adds a tenant. Those above it come first, because names sort that way.
    pub(crate) fn add(&mut self, map: &Map, tenant: &Tenant) -> TenantKey {
        if let Some(key) = self.key(&tenant.name) {
            return key;
        }
        let key = TenantKey(self.list.len() as u32);
        let above = tenant.name.parent().and_then(|parent| self.key(&parent));
        let software: Vec<bool> =
            map.software.iter().map(|has| shortfall(&tenant.versions, has).is_none()).collect();
        let keeper = above
            .and_then(|above| self.account(above).keeper)
            .or_else(|| tenant.quotas.reserved.map(|_| key));
        if keeper == Some(key) {
            self.kept += tenant.quotas.reserved.map_or(0, u64::from);
        }
        self.accounts.push(Account {
            quota: tenant.quota_gpus,
            quotas: tenant.quotas,
            used: [0; 3],
            above,
            keeper,
        });
        let taste = || Arc::new(Taste::new(map, &software));
        self.list.push(Person {
            grade: tenant.grade,
            taste: Arc::clone(self.tastes.entry(software.clone()).or_insert_with(taste)),
            apart: Vec::new(),
            parts: BTreeSet::new(),
            leaves: BTreeSet::new(),
            said: Box::new(Said {
                name: tenant.name.clone(),
                versions: tenant.versions.clone(),
                jurisdictions: tenant.jurisdictions.clone(),
                pools: lawful(map, &tenant.jurisdictions),
            }),
        });
        self.keys.insert(tenant.name.clone(), key);
        key
    }

    /// A tenant, its parent, and so on up.
    pub(crate) fn lineage(&self, key: TenantKey) -> impl Iterator<Item = TenantKey> {
        std::iter::successors(Some(key), |&key| self.account(key).above)
    }

    /// GPUs that are kept for the reservations of others.
    pub(crate) fn kept_for_others(&self, key: TenantKey) -> u64 {
        self.kept - self.kept_by(self.account(key).keeper)
    }

    /// Counts GPUs of one class in, or out, all the way up.
    pub(crate) fn count(&mut self, key: TenantKey, class: Capacity, gpus: u32, comes: bool) {
        let keeper = self.account(key).keeper;
        self.kept -= self.kept_by(keeper);
        let mut next = Some(key);
        while let Some(above) = next {
            let account = &mut self.accounts[above.index()];
            let used = &mut account.used[class_index(class)];
            *used = if comes { *used + gpus } else { *used - gpus };
            next = account.above;
        }
        self.kept += self.kept_by(keeper);
    }

    fn kept_by(&self, keeper: Option<TenantKey>) -> u64 {
        keeper.map_or(0, |keeper| self.account(keeper).unused_reservation())
    }

    /// Both keep away, whoever said so, at the wider of their levels: also from all below the
    /// one that was named.
    fn keep_apart(&mut self, one: &TenantName, other: &TenantName, level: ApartLevel) {
        let (Some(me), Some(other)) = (self.key(one), self.key(other)) else {
            return;
        };
        let below = (0..self.list.len() as u32).map(TenantKey);
        let them: Vec<TenantKey> =
            below.filter(|&key| self.lineage(key).any(|up| up == other) && key != me).collect();
        for them in them {
            self.note_apart(me, them, level);
            self.note_apart(them, me, level);
        }
    }

    fn note_apart(&mut self, me: TenantKey, them: TenantKey, level: ApartLevel) {
        let apart = &mut self.list[me.index()].apart;
        match apart.iter_mut().find(|(key, _)| *key == them) {
            Some((_, at)) => *at = level.max(*at),
            None => apart.push((them, level)),
        }
    }
}

pub(crate) const fn class_index(class: Capacity) -> usize {
    match class {
        Capacity::Reserved => 0,
        Capacity::OnDemand => 1,
        Capacity::Preemptible => 2,
    }
}

fn lawful(map: &Map, allowed: &[SmolStr]) -> Vec<u32> {
    let is_lawful = |pool: &u32| {
        let pod = &map.fleet.pods[map.pools[*pool as usize].pod.index()];
        let law = &map.fleet.sites[pod.site.index()].jurisdiction;
        allowed.is_empty() || allowed.contains(law)
    };
    (0..map.pools.len() as u32).filter(is_lawful).collect()
}

/// What a tenant demands and a node does not have: the component, what is needed, what is there.
pub(crate) fn shortfall(
    policy: &VersionPolicy,
    has: &Versions,
) -> Option<(SmolStr, SmolStr, SmolStr)> {
    let old = policy.at_least.iter().find_map(|(component, needs)| {
        let version = version_of(has, component);
        compare_versions(version, needs)
            .is_lt()
            .then(|| (component.clone(), needs.clone(), version.clone()))
    });
    let unsafe_boot = || {
        (policy.secure_boot && !has.secure_boot)
            .then(|| ("secure-boot".into(), "on".into(), "off".into()))
    };
    old.or_else(unsafe_boot)
}

/// A component nobody knows has no version, and none is enough.
fn version_of<'a>(versions: &'a Versions, component: &str) -> &'a SmolStr {
    const NONE: &SmolStr = &SmolStr::new_static("none");
    match component {
        "driver" => &versions.driver,
        "kernel" => &versions.kernel,
        "firmware" => &versions.firmware,
        "toolkit" => &versions.toolkit,
        _ => NONE,
    }
}
