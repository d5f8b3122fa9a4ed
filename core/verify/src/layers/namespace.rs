//! Namespaces and classes of volumes: whose they are, and who else gets in.

use std::collections::BTreeMap;

use model::{DeviceId, Dialect, Name, Part, STORAGE_BYTES_PER_GPU, TenantName};
use read::{Direction, Hold, Peer};

use super::found::Findings;
use super::{Atom, LayerPlace, LayerWeakness, Member, Owner, Spot, Strength};
use crate::device::At;
use crate::verifier::Verifier;

impl Verifier {
    pub(super) fn judge_namespace(&self, device: DeviceId, name: &Name, found: &mut Findings<'_>) {
        let spot = Spot::Namespace(device, name.clone());
        let owners = self.tenants_of(device, name);
        let Some((tenant, &said)) = owners.iter().next() else {
            self.judge_nobodys(device, name, found);
            return;
        };
        let own = Space { device, name, tenant, said };
        for (other, at) in owners.iter().skip(1) {
            let pair = (own.member(), space_of(name, Owner::Tenant((*other).clone())));
            found.breach(own.place(), pair, Strength::Data, [said, *at]);
        }
        for (hold, at) in self.lines(&spot) {
            self.judge_guest_of(&own, hold, at, found);
            self.judge_door(&own, hold, at, found);
            self.judge_role(&own, hold, at, found);
        }
        let lines: Vec<(&Hold, At)> = self.lines(&spot).collect();
        judge_defaults(&own, &lines, found);
        judge_own_ways(&own, &lines, found);
        self.judge_roles(&own, &lines, found);
        self.judge_quotas(&own, &lines, found);
    }

    /// All people of a tenant may do something in its namespace.
    fn judge_roles(&self, own: &Space<'_>, lines: &[(&Hold, At)], found: &mut Findings<'_>) {
        for group in &self.trust_of(own.tenant).groups {
            let acts = |(hold, _): &(&Hold, At)| matches!(hold, Hold::Role { group: held, .. } if held == group);
            if !lines.iter().any(acts) {
                let (namespace, group) = (own.name.clone(), group.clone());
                let text = format!("a role for {group} in {namespace}");
                let weakness = LayerWeakness::NoRole { namespace, group };
                found.absent(own.managed(), text, weakness, [own.said]);
            }
        }
    }

    /// A namespace may use what its tenant has, and store as much as belongs to that.
    fn judge_quotas(&self, own: &Space<'_>, lines: &[(&Hold, At)], found: &mut Findings<'_>) {
        let planned = self.layers.tenants.get(own.tenant).map_or(0, |held| held.gpus);
        let (mut gpus, mut bytes) = (Vec::new(), Vec::new());
        for (hold, at) in lines {
            match hold {
                Hold::GpuQuota { gpus: held, .. } => gpus.push((u64::from(*held), *at)),
                Hold::StorageQuota { bytes: held, .. } => bytes.push((*held, *at)),
                _ => {}
            }
        }
        let quotas = [("GPUs", gpus, planned), ("bytes", bytes, planned * STORAGE_BYTES_PER_GPU)];
        for (of, lines, planned) in quotas {
            for (held, at) in lines.into_iter().filter(|(held, _)| *held != planned) {
                let namespace = own.name.clone();
                let weakness = LayerWeakness::WrongQuota { namespace, of, held, planned };
                found.open(own.device, weakness, [at]);
            }
        }
    }

    /// Only jobs and control planes of its tenant are in a namespace.
    fn judge_guest_of(&self, own: &Space<'_>, hold: &Hold, at: At, found: &mut Findings<'_>) {
        let stranger = match hold {
            Hold::Claimed { namespace, job, .. } | Hold::ClusterGuest { namespace, job, .. }
                if namespace == own.name && job.tenant != *own.tenant =>
            {
                space_of(own.name, Owner::Job(job.clone()))
            }
            Hold::ControlPlane { namespace, tenant, kind }
                if namespace == own.name && tenant != own.tenant =>
            {
                let atom = Atom::ControlPlane(kind.clone());
                Member { atom, owner: Owner::Tenant(tenant.clone()) }
            }
            _ => return,
        };
        found.breach(own.place(), (own.member(), stranger), Strength::Data, [own.said, at]);
    }

    /// No policy lets the pods of another tenant in, or reaches them.
    fn judge_door(&self, own: &Space<'_>, hold: &Hold, at: At, found: &mut Findings<'_>) {
        let others: Vec<&Name> = match hold {
            Hold::Lets { namespace, peer: Peer::Namespace(other), .. } if namespace == own.name => {
                vec![other]
            }
            Hold::MeshLets { namespace, callers } if namespace == own.name => {
                callers.iter().collect()
            }
            Hold::Lets { namespace, peer: Peer::Anyone, direction } if namespace == own.name => {
                let (namespace, direction) = (namespace.clone(), *direction);
                let weakness = LayerWeakness::LetsAnyone { namespace, direction };
                found.open(own.device, weakness, [at]);
                return;
            }
            _ => return,
        };
        for other in others.into_iter().filter(|other| *other != own.name) {
            let theirs = self.tenants_of(own.device, other);
            if theirs.keys().all(|tenant| *tenant == own.tenant) && !theirs.is_empty() {
                continue;
            }
            let foreign = theirs.iter().find(|(tenant, _)| **tenant != own.tenant);
            let owner =
                foreign.map_or(Owner::Nobody, |(tenant, _)| Owner::Tenant((*tenant).clone()));
            let ats = [own.said, at].into_iter().chain(foreign.map(|(_, at)| *at));
            found.breach(own.place(), (own.member(), space_of(other, owner)), Strength::Data, ats);
        }
    }

    /// Roles in a namespace are bound to people of its tenant.
    fn judge_role(&self, own: &Space<'_>, hold: &Hold, at: At, found: &mut Findings<'_>) {
        let Hold::Role { namespace: Some(_), group, role } = hold else {
            return;
        };
        if self.trust_of(own.tenant).groups.contains(group) {
            return;
        }
        let trusts = self.layers.trusts.iter();
        let mut theirs =
            trusts.filter(|(_, trust)| trust.groups.contains(group)).map(|(name, _)| name);
        let owner = theirs.next().cloned().map_or(Owner::Nobody, Owner::Tenant);
        let people = Member { atom: Atom::People(group.clone()), owner };
        let place = LayerPlace::Role { namespace: own.name.clone(), role: role.clone() };
        found.breach(place, (people, own.member()), Strength::Data, [own.said, at]);
    }

    /// Nothing of a tenant is in a namespace that is no tenant's.
    fn judge_nobodys(&self, device: DeviceId, name: &Name, found: &mut Findings<'_>) {
        let spot = Spot::Namespace(device, name.clone());
        let is_tenants = |(hold, at): &(&Hold, At)| match hold {
            Hold::Claimed { .. } | Hold::ClusterGuest { .. } | Hold::ControlPlane { .. } => true,
            // Others let it in, or are let in by it.
            Hold::Lets { namespace, .. } | Hold::MeshLets { namespace, .. }
                if namespace != name =>
            {
                false
            }
            // Operators have namespaces of their own, which are none of our business; but what is
            // written for a tenant is meant for a tenant's.
            _ => !matches!(self.sheets[at.sheet as usize].part, Part::Head | Part::Whole),
        };
        let first = self.lines(&spot).find(is_tenants);
        if let Some((_, at)) = first {
            let weakness = LayerWeakness::NobodysNamespace { namespace: name.clone() };
            found.open(device, weakness, [at]);
        }
    }

    pub(super) fn judge_volumes(&self, device: DeviceId, class: &str, found: &mut Findings<'_>) {
        let spot = Spot::Volumes(device, class.into());
        let mut owners: BTreeMap<&TenantName, At> = BTreeMap::new();
        for (hold, at) in self.lines(&spot) {
            if let Hold::Volumes { tenant, .. } = hold {
                owners.entry(tenant).or_insert(at);
            }
        }
        let Some((tenant, &said)) = owners.iter().next() else {
            for (hold, at) in self.lines(&spot) {
                if let Hold::StorageQuota { bytes: 1.., .. } = hold {
                    found.open(device, LayerWeakness::NobodysVolumes { class: class.into() }, [at]);
                }
            }
            return;
        };
        let place = || LayerPlace::Volumes(class.into());
        let volumes = |tenant: &TenantName| Member {
            atom: Atom::Volumes(class.into()),
            owner: Owner::Tenant(tenant.clone()),
        };
        for (other, at) in owners.iter().skip(1) {
            found.breach(place(), (volumes(tenant), volumes(other)), Strength::Data, [said, *at]);
        }
        for (hold, at) in self.lines(&spot) {
            let Hold::StorageQuota { namespace, bytes: 1.., .. } = hold else { continue };
            let theirs = self.tenants_of(device, namespace);
            let foreign = theirs.iter().find(|(other, _)| !owners.contains_key(**other));
            if let Some((other, _)) = foreign {
                let user = space_of(namespace, Owner::Tenant((*other).clone()));
                found.breach(place(), (volumes(tenant), user), Strength::Data, [said, at]);
            }
        }
    }

    /// Whose a namespace is, and the line that says so.
    pub(super) fn tenants_of(&self, device: DeviceId, name: &Name) -> BTreeMap<&TenantName, At> {
        let mut tenants = BTreeMap::new();
        for (hold, at) in self.lines(&Spot::Namespace(device, name.clone())) {
            match hold {
                Hold::Namespace { namespace, tenant } if namespace == name => {
                    tenants.entry(tenant).or_insert(at);
                }
                _ => {}
            }
        }
        tenants
    }
}

/// A namespace and whose it is.
struct Space<'a> {
    device: DeviceId,
    name: &'a Name,
    tenant: &'a TenantName,
    said: At,
}

impl Space<'_> {
    /// Something of this namespace.
    fn with(&self, what: &str) -> String {
        format!("{what} in namespace {}", self.name)
    }

    /// Where what is said of it stands.
    const fn managed(&self) -> (DeviceId, Dialect) {
        (self.device, Dialect::Kubernetes)
    }

    fn member(&self) -> Member {
        space_of(self.name, Owner::Tenant(self.tenant.clone()))
    }

    fn place(&self) -> LayerPlace {
        LayerPlace::Namespace(self.name.clone())
    }
}

fn space_of(name: &Name, owner: Owner) -> Member {
    Member { atom: Atom::Namespace(name.clone()), owner }
}

/// What is open unless a line closes it.
fn judge_defaults(own: &Space<'_>, lines: &[(&Hold, At)], found: &mut Findings<'_>) {
    let namespace = || own.name.clone();
    for direction in [Direction::Ingress, Direction::Egress] {
        let denies = |(hold, _): &(&Hold, At)| matches!(hold, Hold::DeniesByDefault { direction: held, .. } if *held == direction);
        if !lines.iter().any(denies) {
            let weakness = LayerWeakness::OpenNamespace { namespace: namespace(), direction };
            let text = format!("a policy that denies {}", weakness.place());
            found.absent(own.managed(), text, weakness, [own.said]);
        }
    }
    let strict = lines.iter().filter_map(|(hold, at)| match hold {
        Hold::StrictTls { strict, .. } => Some((*strict, *at)),
        _ => None,
    });
    let permissive = LayerWeakness::PermissiveTls { namespace: namespace() };
    shut(own, "strict mutual TLS", strict.collect(), permissive, found);
    let restricted = lines.iter().filter_map(|(hold, at)| match hold {
        Hold::Restricted { restricted, .. } => Some((*restricted, *at)),
        _ => None,
    });
    let unrestricted = LayerWeakness::Unrestricted { namespace: namespace() };
    shut(own, "what keeps pods from the host", restricted.collect(), unrestricted, found);
    let has = |is: fn(&Hold) -> bool| lines.iter().any(|(hold, _)| is(hold));
    let lacking = [
        (
            lines.iter().any(|(hold, _)| {
                matches!(hold, Hold::MeshLets { namespace, .. } if namespace == own.name)
            }),
            "who may call it",
            LayerWeakness::OpenMesh { namespace: namespace() },
        ),
        (
            has(|hold| matches!(hold, Hold::GpuQuota { .. })),
            "a quota of GPUs",
            LayerWeakness::NoQuota { namespace: namespace(), of: "GPUs" },
        ),
        (
            has(|hold| matches!(hold, Hold::StorageQuota { .. })),
            "a quota of storage",
            LayerWeakness::NoQuota { namespace: namespace(), of: "storage" },
        ),
        (
            has(|hold| matches!(hold, Hold::Bounded { .. })),
            "bounds of containers",
            LayerWeakness::Unbounded { namespace: namespace() },
        ),
    ];
    for (_, what, weakness) in lacking.into_iter().filter(|(is_there, ..)| !is_there) {
        found.absent(own.managed(), own.with(what), weakness, [own.said]);
    }
}

/// Pods of a namespace reach each other and the names of services, past all that is denied.
fn judge_own_ways(own: &Space<'_>, lines: &[(&Hold, At)], found: &mut Findings<'_>) {
    let lets = |way: Direction, to: &Peer| {
        lines.iter().any(|(hold, _)| {
            matches!(hold, Hold::Lets { namespace, direction, peer }
                if namespace == own.name && *direction == way && peer == to)
        })
    };
    let itself = Peer::Namespace(own.name.clone());
    let calls = lines.iter().any(|(hold, _)| {
        matches!(hold, Hold::MeshLets { namespace, callers }
            if namespace == own.name && callers.contains(own.name))
    });
    let ways = [
        (lets(Direction::Ingress, &itself), "be reached by each other"),
        (lets(Direction::Egress, &itself), "reach each other"),
        (lets(Direction::Egress, &Peer::Resolver), "ask for names"),
        (calls, "call each other through the mesh"),
    ];
    for (_, way) in ways.into_iter().filter(|(is_open, _)| !is_open) {
        let namespace = own.name.clone();
        let text = format!("what lets pods of {namespace} {way}");
        let weakness = LayerWeakness::ShutNamespace { namespace, way };
        found.absent(own.managed(), text, weakness, [own.said]);
    }
}

/// Something that must be said and never denied.
fn shut(
    own: &Space<'_>,
    what: &str,
    lines: Vec<(bool, At)>,
    weakness: LayerWeakness,
    found: &mut Findings<'_>,
) {
    let open: Vec<At> = lines.iter().filter(|line| !line.0).map(|line| line.1).collect();
    if !open.is_empty() {
        found.open(own.device, weakness, open);
    } else if lines.is_empty() {
        found.absent(own.managed(), own.with(what), weakness, [own.said]);
    }
}
