//! Namespaces and classes of volumes: whose they are, and who else gets in.

use std::collections::BTreeMap;

use model::admission::{GPU_QUOTAS, RUNTIME_LABEL, role_of, runtime_word};
use model::{DeviceId, Dialect, JobName, Name, Part, Runtime, STORAGE_BYTES_PER_GPU, TenantName};
use read::{Direction, Hold, Peer};

use super::found::Findings;
use super::{Atom, LayerPlace, LayerWeakness, Member, Owner, Spot, Strength};
use crate::device::At;
use crate::verifier::Verifier;

/// The namespace whose policies of the mesh hold everywhere.
const MESH: &str = "istio-system";

/// What the quotas of GPUs are of, in the order of their names.
const QUOTAS: [&str; 5] = [
    "GPUs of gpu.nvidia.com",
    "GPUs of vfio.gpu.nvidia.com",
    "GPUs of gpu.amd.com",
    "GPUs by amd.com/gpu",
    "GPUs by nvidia.com/gpu",
];

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
        self.judge_governed(&own, &lines, found);
        judge_own_ways(&own, &lines, found);
        judge_calicos_jobs(&own, &lines, found);
        self.judge_roles(&own, &lines, found);
        self.judge_quotas(&own, &lines, found);
    }

    /// The rules that hold in a namespace are those for what its tenant's jobs run in.
    fn judge_governed(&self, own: &Space<'_>, lines: &[(&Hold, At)], found: &mut Findings<'_>) {
        let planned = self.trust_of(own.tenant).runtime;
        let held: Vec<(Runtime, At)> = lines
            .iter()
            .filter_map(|(hold, at)| match hold {
                Hold::Governed { runtime, .. } => Some((*runtime, *at)),
                _ => None,
            })
            .collect();
        let weakness = || LayerWeakness::Ungoverned { namespace: own.name.clone(), planned };
        let wrong: Vec<At> =
            held.iter().filter(|held| held.0 != planned).map(|held| held.1).collect();
        if !wrong.is_empty() {
            found.open(own.device, weakness(), wrong);
        } else if held.is_empty() {
            let text = own.with(&format!("the label {RUNTIME_LABEL}={}", runtime_word(planned)));
            found.absent(own.managed(), text, weakness(), [own.said]);
        }
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
        let (gpus, amd) =
            self.layers.tenants.get(own.tenant).map_or((0, 0), |held| (held.gpus, held.amd));
        let runtime = self.trust_of(own.tenant).runtime;
        let wrong = |of, held, planned| LayerWeakness::WrongQuota {
            namespace: own.name.clone(),
            of,
            held,
            planned,
        };
        for (class, of) in GPU_QUOTAS.into_iter().zip(QUOTAS) {
            let planned = match (class.split_once(".deviceclass."), runtime) {
                (Some(("gpu.amd.com", _)), _) => amd,
                (Some(("gpu.nvidia.com", _)), Runtime::Container)
                | (Some(("vfio.gpu.nvidia.com", _)), Runtime::Vm) => gpus - amd,
                _ => 0,
            };
            let mut is_said = false;
            for (hold, at) in lines {
                let Hold::GpuQuota { of: held, gpus, .. } = hold else { continue };
                if held == class {
                    is_said = true;
                    let held = u64::from(*gpus);
                    if held != planned {
                        found.open(own.device, wrong(of, held, planned), [*at]);
                    }
                }
            }
            if !is_said {
                let weakness = LayerWeakness::NoQuota { namespace: own.name.clone(), of };
                found.absent(
                    own.managed(),
                    own.with(&format!("a quota of {of}")),
                    weakness,
                    [own.said],
                );
            }
        }
        let planned = gpus * STORAGE_BYTES_PER_GPU;
        for (hold, at) in lines {
            let Hold::StorageQuota { bytes: held, .. } = hold else { continue };
            if *held != planned {
                found.open(own.device, wrong("bytes", *held, planned), [*at]);
            }
        }
    }

    /// Only jobs and control planes of its tenant are in a namespace.
    fn judge_guest_of(&self, own: &Space<'_>, hold: &Hold, at: At, found: &mut Findings<'_>) {
        let stranger = match hold {
            Hold::Claimed { namespace, job, .. }
            | Hold::ClusterGuest { namespace, job, .. }
            | Hold::LetsJob { namespace, job, .. }
            | Hold::CalicoLetsJob { namespace, job, .. }
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
        // What a namespace that is nobody's says of this one is judged nowhere else.
        let theirs = match hold {
            Hold::Lets { namespace, peer: Peer::Namespace(peer), .. } if peer == own.name => {
                Some(namespace)
            }
            Hold::MeshLets { namespace, callers } if callers.contains(own.name) => Some(namespace),
            _ => None,
        };
        if let Some(other) = theirs.filter(|other| *other != own.name)
            && self.tenants_of(own.device, other).is_empty()
        {
            let pair = (own.member(), space_of(other, Owner::Nobody));
            let place = LayerPlace::Namespace(other.clone());
            found.breach(place, pair, Strength::Data, [own.said, at]);
            return;
        }
        if let Hold::Lets { namespace, peer: Peer::Namespace(peer), direction } = hold
            && namespace == own.name
            && peer == own.name
        {
            let (namespace, direction) = (namespace.clone(), *direction);
            found.open(own.device, LayerWeakness::JobsMeet { namespace, direction }, [at]);
            return;
        }
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
        let trust = self.trust_of(own.tenant);
        if trust.groups.contains(group) {
            if role != role_of(trust.runtime).name {
                let (namespace, group, role) = (own.name.clone(), group.clone(), role.clone());
                found.open(own.device, LayerWeakness::WrongRole { namespace, group, role }, [at]);
            }
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
        for (hold, at) in self.lines(&spot) {
            let namespace = || name.clone();
            match hold {
                Hold::Role { namespace: Some(_), group, role } if self.has_tenants(group) => {
                    let (group, role) = (group.clone(), role.clone());
                    let weakness = LayerWeakness::WrongRole { namespace: namespace(), group, role };
                    found.open(device, weakness, [at]);
                }
                // What the mesh's own namespace says holds in every other one.
                Hold::MeshLets { namespace: of, callers }
                    if of == name && of.as_str() == MESH && !callers.is_empty() =>
                {
                    found.open(device, LayerWeakness::OpenMesh { namespace: namespace() }, [at]);
                }
                Hold::StrictTls { strict: false, .. } if name.as_str() == MESH => {
                    let weakness = LayerWeakness::PermissiveTls { namespace: namespace() };
                    found.open(device, weakness, [at]);
                }
                _ => {}
            }
        }
        let is_tenants = |(hold, at): &(&Hold, At)| match hold {
            Hold::Claimed { .. }
            | Hold::ClusterGuest { .. }
            | Hold::LetsJob { .. }
            | Hold::CalicoLetsJob { .. }
            | Hold::ControlPlane { .. } => true,
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

    /// Whether people of a tenant are in the group: their own, or one that everybody is in.
    fn has_tenants(&self, group: &str) -> bool {
        const EVERYBODY: [&str; 3] =
            ["system:authenticated", "system:unauthenticated", "system:serviceaccounts"];
        EVERYBODY.contains(&group)
            || group.starts_with("system:serviceaccounts:")
            || self
                .layers
                .trusts
                .values()
                .any(|trust| trust.groups.iter().any(|held| held == group))
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
                    let weakness = LayerWeakness::NobodysVolumes { class: class.into() };
                    let text = format!("whose volumes of class {class} are");
                    found.absent((device, Dialect::Kubernetes), text, weakness, [at]);
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
            has(|hold| matches!(hold, Hold::Meshed { .. })),
            "the mesh's label",
            LayerWeakness::Unmeshed { namespace: namespace() },
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

/// Pods of a namespace call each other and reach the names of services, past all that is denied.
fn judge_own_ways(own: &Space<'_>, lines: &[(&Hold, At)], found: &mut Findings<'_>) {
    let resolves = lines.iter().any(|(hold, _)| {
        matches!(hold, Hold::Lets { namespace, direction: Direction::Egress, peer: Peer::Resolver }
            if namespace == own.name)
    });
    // Where Calico's policies deny the rest, it is for them to let through what may pass.
    let by_calico = |is: fn(&Hold) -> bool| lines.iter().any(|(hold, _)| is(hold));
    let is_shut =
        by_calico(|hold| matches!(hold, Hold::CalicoDenies { direction: Direction::Egress, .. }));
    let resolves =
        resolves && (!is_shut || by_calico(|hold| matches!(hold, Hold::CalicoResolves { .. })));
    let calls = lines.iter().any(|(hold, _)| {
        matches!(hold, Hold::MeshLets { namespace, callers }
            if namespace == own.name && callers.contains(own.name))
    });
    let ways = [(resolves, "ask for names"), (calls, "call each other through the mesh")];
    for (_, way) in ways.into_iter().filter(|(is_open, _)| !is_open) {
        let namespace = own.name.clone();
        let text = format!("what lets pods of {namespace} {way}");
        let weakness = LayerWeakness::ShutNamespace { namespace, way };
        found.absent(own.managed(), text, weakness, [own.said]);
    }
}

/// Where Calico's policies deny the rest, they let the pods of each job reach each other, too.
fn judge_calicos_jobs(own: &Space<'_>, lines: &[(&Hold, At)], found: &mut Findings<'_>) {
    let jobs: BTreeMap<&JobName, At> = lines
        .iter()
        .filter_map(|(hold, at)| match hold {
            Hold::LetsJob { job, .. } => Some((job, *at)),
            _ => None,
        })
        .collect();
    for direction in [Direction::Ingress, Direction::Egress] {
        let denies = |(hold, _): &(&Hold, At)| matches!(hold, Hold::CalicoDenies { direction: held, .. } if *held == direction);
        if !lines.iter().any(denies) {
            continue;
        }
        for (job, at) in &jobs {
            let lets = |(hold, _): &(&Hold, At)| {
                matches!(hold, Hold::CalicoLetsJob { job: held, direction: way, .. }
                    if held == *job && *way == direction)
            };
            if !lines.iter().any(lets) {
                let weakness = LayerWeakness::ShutJob { job: (*job).clone(), direction };
                let text = format!("what lets pods of {job} {} by Calico", weakness.place());
                found.absent(own.managed(), text, weakness, [*at]);
            }
        }
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
