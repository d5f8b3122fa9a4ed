//! Everything that can be wrong with documents, each with its sentence and its remedy.

use std::fmt;

use crate::SourcePlace;

/// What is wrong with the documents, with the offenders.
#[derive(Clone, Debug, Eq, PartialEq)]
#[allow(missing_docs)] // Each variant's sentence below says what its fields are.
pub enum Problem {
    /// The text is neither YAML nor JSON.
    NotYaml { said: String },
    /// Values are nested too deeply.
    TooDeep { most: usize },
    /// An anchor or an alias.
    Alias,
    /// An explicit YAML tag.
    YamlTag,
    /// A list or a map where a key should be.
    KeyIsNoText,
    /// A second value in one document.
    TwoValues,
    /// A key twice in one map.
    DuplicateKey { key: String, first: SourcePlace },
    /// A key that the map does not have.
    UnknownKey { key: String, within: &'static str, near: Option<String>, known: Vec<&'static str> },
    /// A key that the map must have.
    MissingKey { key: &'static str, within: &'static str },
    /// Something else where a map should be.
    NotAMap { what: &'static str, found: String },
    /// A value of another type.
    WrongType { key: &'static str, expected: &'static str, found: String },
    /// A word that is none of those that the key takes.
    WrongWord { key: &'static str, found: String, near: Option<String>, words: Vec<&'static str> },
    /// Text that does not say what the key takes.
    BadValue { key: &'static str, found: String, expected: String },
    /// A number outside of its bounds.
    OutOfRange { key: &'static str, found: String, least: u64, most: u64 },
    /// A list that must not be empty.
    EmptyList { key: &'static str },
    /// Keys of which exactly one must be there, and those that are.
    EitherOr { keys: &'static [&'static str], given: Vec<&'static str> },
    /// A key that means nothing beside another one.
    Pointless { key: &'static str, beside: &'static str },
    /// A document of another API version.
    WrongApiVersion { found: String },
    /// A document of a kind that does not exist.
    UnknownKind { found: String, near: Option<String> },
    /// Text that is no name.
    BadName { found: String },
    /// A name that is taken.
    DuplicateName { kind: &'static str, name: String, first: SourcePlace },
    /// A name that nothing has.
    Dangling { kind: &'static str, name: String, near: Option<String> },
    /// No document of kind Fleet.
    NoFleet,
    /// A second document of kind Fleet.
    TwoFleets { name: String, first: SourcePlace },
    /// A range of IPv6 addresses.
    Ipv6 { key: &'static str, found: String },
    /// A range whose address is not its first.
    HostBits { key: &'static str, found: String, meant: String },
    /// A pool without room for endpoints.
    PrefixTooLong { found: String, longest: u8 },
    /// A pool of addresses that no endpoint can have.
    PoolReserved { found: String, range: String, what: &'static str },
    /// A pool with addresses of the fabric itself.
    PoolInFabric { found: String, range: String },
    /// Two ranges with addresses in common.
    RangesOverlap { range: String, other: String, place: SourcePlace },
    /// A range with less room than the fleet needs.
    RangeTooSmall { key: &'static str, range: String, holds: u64, needs: u64 },
    /// A fleet larger than is expanded.
    TooMany { what: &'static str, count: u64, most: u64 },
    /// A switch with more ports than can be numbered.
    TooManyPorts { switch: String, ports: u32 },
    /// Several leaves that nothing joins.
    NoSpine { leaves: usize },
    /// A loopback or AS for a node that has none.
    NotATunnelEndpoint { node: String },
    /// A loopback inside the range of the cables.
    LoopbackInCables { address: String, cables: String },
    /// A loopback or AS that another device has.
    Shared { key: &'static str, value: String, device: String, other: String },
    /// A set of modules that the table has already.
    PartitionTwice { modules: Vec<u16> },
    /// A module twice in one set.
    ModuleTwice { module: u16 },
    /// A list that needs one number for each GPU or each interface of a node.
    OneForEach { key: &'static str, found: usize, count: u16, of: &'static str },
    /// A PCI address that two devices of a node have.
    PciTwice { address: String },
    /// A list that needs one PCI address for each GPU or interface.
    OneAddressEach { key: &'static str, found: usize, count: usize },
    /// A layer names devices by their PCI addresses, and a model gives none.
    NoPciAddresses { layer: &'static str, model: String },
    /// A layer whose lines are about what another layer describes, without that one.
    LayerAlone { layer: &'static str, needs: &'static str },
    /// A tenant demands what no layer of the fleet could show.
    Unseen { demand: &'static str, layer: &'static str },
    /// A model has more interfaces than a fleet with layers can tell apart.
    TooManyNics { model: String, most: usize },
    /// The name of a layer's manager is no name, or another device has it.
    NoNameForManager { name: String },
    /// A tenant below one that does not exist.
    NoParent { tenant: String, parent: String },
    /// A tenant that weakens what it inherits.
    Weaker {
        what: &'static str,
        tenant: String,
        own: String,
        parent: String,
        above: String,
        place: SourcePlace,
    },
    /// A tenant that breaks a guardrail.
    BreaksGuardrail {
        what: &'static str,
        tenant: String,
        own: String,
        guardrail: String,
        limit: String,
        place: SourcePlace,
    },
    /// A tenant whose parents and guardrails have no jurisdiction in common.
    NoJurisdictionLeft { tenant: String },
    /// A guarantee that the ceiling cuts off.
    GuaranteeAboveCeiling { tenant: String, guarantee: String, ceiling: String, place: SourcePlace },
    /// A job's ceiling that its tenant's cuts off.
    CeilingAboveTenant { job: String, ceiling: String, above: String, place: SourcePlace },
    /// A reservation that the quota cuts off.
    ReservedAboveQuota { tenant: String, reserved: u32, quota: u32, place: SourcePlace },
    /// A reservation out of one above, of which others took too much already.
    ReservedTwice {
        tenant: String,
        reserved: u32,
        above: String,
        taken: u64,
        whole: u32,
        place: SourcePlace,
    },
    /// A tenant that would keep away from itself, or from one above or below it.
    ApartFromItself { tenant: String, from: String },
    /// A tenant with jobs and no addresses for them.
    NoPool { tenant: String, job: String },
    /// A guardrail against foreign permits that names no tenant.
    NobodyIsForeign,
    /// A permit with somebody outside, against a guardrail.
    ForeignPermit { peer: String, subtree: String, guardrail: String, place: SourcePlace },
    /// A permit for RoCE.
    RocePermit,
    /// A permit of a job with itself.
    PermitWithItself { job: String },
    /// A job with the path of a tenant.
    JobIsTenant { path: String, place: SourcePlace },
    /// A job whose GPUs do not fill whole segments of any nodes that suit it.
    NotWholeSegments { gpus: u32, segment: u16, sizes: Vec<u32> },
    /// A job that may be stopped for others and would stop others.
    PreemptiblePreempts { preempts: &'static str },
    /// An interface that a job already has.
    EndpointTaken { endpoint: String, job: String, place: SourcePlace },
    /// An interface that the node does not have.
    NoSuchNic { node: String, nic: u16, count: usize },
    /// Endpoints of one job in two pods.
    LeavesPod { endpoint: String, pod: String, home: String },
}

impl Problem {
    /// A short word for the kind of problem, for machines.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotYaml { .. } => "not-yaml",
            Self::TooDeep { .. } => "too-deep",
            Self::Alias => "alias",
            Self::YamlTag => "yaml-tag",
            Self::KeyIsNoText => "key-is-no-text",
            Self::TwoValues => "two-values",
            Self::DuplicateKey { .. } => "duplicate-key",
            Self::UnknownKey { .. } => "unknown-key",
            Self::MissingKey { .. } => "missing-key",
            Self::NotAMap { .. } | Self::WrongType { .. } => "wrong-type",
            Self::WrongWord { .. } => "wrong-word",
            Self::BadValue { .. } => "bad-value",
            Self::OutOfRange { .. } => "out-of-range",
            Self::EmptyList { .. } => "empty-list",
            Self::EitherOr { .. } => "either-or",
            Self::Pointless { .. } => "pointless",
            Self::WrongApiVersion { .. } => "wrong-api-version",
            Self::UnknownKind { .. } => "unknown-kind",
            Self::BadName { .. } => "bad-name",
            Self::DuplicateName { .. } => "duplicate-name",
            Self::Dangling { .. } => "dangling",
            Self::NoFleet => "no-fleet",
            Self::TwoFleets { .. } => "two-fleets",
            Self::Ipv6 { .. } => "ipv6",
            Self::HostBits { .. } => "host-bits",
            Self::PrefixTooLong { .. } => "prefix-too-long",
            Self::PoolReserved { .. } => "pool-reserved",
            Self::PoolInFabric { .. } => "pool-in-fabric",
            Self::RangesOverlap { .. } => "ranges-overlap",
            Self::RangeTooSmall { .. } => "range-too-small",
            Self::TooMany { .. } => "too-many",
            Self::TooManyPorts { .. } => "too-many-ports",
            Self::NoSpine { .. } => "no-spine",
            Self::NotATunnelEndpoint { .. } => "not-a-tunnel-endpoint",
            Self::LoopbackInCables { .. } => "loopback-in-cables",
            Self::Shared { .. } => "shared",
            Self::PartitionTwice { .. } => "partition-twice",
            Self::ModuleTwice { .. } => "module-twice",
            Self::OneForEach { .. } => "one-for-each",
            Self::PciTwice { .. } => "pci-twice",
            Self::OneAddressEach { .. } => "one-address-each",
            Self::NoPciAddresses { .. } => "no-pci-addresses",
            Self::LayerAlone { .. } => "layer-alone",
            Self::Unseen { .. } => "unseen-demand",
            Self::TooManyNics { .. } => "too-many-nics",
            Self::NoNameForManager { .. } => "no-name-for-manager",
            Self::NoParent { .. } => "no-parent",
            Self::Weaker { .. } => "weaker",
            Self::BreaksGuardrail { .. } => "breaks-guardrail",
            Self::NoJurisdictionLeft { .. } => "no-jurisdiction-left",
            Self::GuaranteeAboveCeiling { .. } => "guarantee-above-ceiling",
            Self::CeilingAboveTenant { .. } => "ceiling-above-tenant",
            Self::ReservedAboveQuota { .. } => "reserved-above-quota",
            Self::ReservedTwice { .. } => "reserved-twice",
            Self::ApartFromItself { .. } => "apart-from-itself",
            Self::NoPool { .. } => "no-pool",
            Self::NobodyIsForeign => "nobody-is-foreign",
            Self::ForeignPermit { .. } => "foreign-permit",
            Self::RocePermit => "roce-permit",
            Self::PermitWithItself { .. } => "permit-with-itself",
            Self::JobIsTenant { .. } => "job-is-tenant",
            Self::NotWholeSegments { .. } => "not-whole-segments",
            Self::PreemptiblePreempts { .. } => "preemptible-preempts",
            Self::EndpointTaken { .. } => "endpoint-taken",
            Self::NoSuchNic { .. } => "no-such-nic",
            Self::LeavesPod { .. } => "leaves-pod",
        }
    }

    /// What to do about it: one sentence.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NotYaml { .. } => "Correct the YAML or JSON at this place.".into(),
            Self::TooDeep { .. } => "Write flatter documents.".into(),
            Self::Alias => "Write the value out, or say it once in a model.".into(),
            Self::YamlTag => "Remove the tag.".into(),
            Self::KeyIsNoText => "Make the key a word.".into(),
            Self::TwoValues => "Put `---` between two documents.".into(),
            Self::DuplicateKey { .. } => "Keep one of the two.".into(),
            Self::UnknownKey { near, known, .. } => match near {
                Some(near) => format!("Did you mean `{near}`?"),
                None => format!("Known keys are {}.", quoted(known)),
            },
            Self::MissingKey { key, .. } => format!("Add `{key}`."),
            Self::NotAMap { .. } => "Write keys and values.".into(),
            Self::WrongType { expected, .. } => format!("Write {expected}."),
            Self::WrongWord { near, words, .. } => match near {
                Some(near) => format!("Did you mean `{near}`?"),
                None => format!("Write one of {}.", quoted(words)),
            },
            Self::BadValue { expected, .. } => format!("Expected: {expected}."),
            Self::OutOfRange { least, most, .. } => {
                format!("Write a number from {least} to {most}.")
            }
            Self::EmptyList { .. } => "Write at least one.".into(),
            Self::EitherOr { keys, given } => match given.is_empty() {
                true => format!("Add one of {}.", quoted(keys)),
                false => "Keep one of them.".into(),
            },
            Self::Pointless { key, .. } => format!("Remove `{key}`."),
            Self::WrongApiVersion { .. } => {
                format!("Write `{}`.", crate::document::API_VERSION)
            }
            Self::UnknownKind { near, .. } => match near {
                Some(near) => format!("Did you mean `{near}`?"),
                None => "Kinds are Fleet, Tenant, Permit, Guardrail, Job, Waiver and List.".into(),
            },
            Self::BadName { .. } => "Use lower-case letters, digits and inner hyphens, at most \
                63 a name; a tenant's path has at most 5 names joined by slashes."
                .into(),
            Self::DuplicateName { .. } => "Rename or remove one of the two.".into(),
            Self::Dangling { kind, near, .. } => match near {
                Some(near) => format!("Did you mean `{near}`?"),
                None => format!("Name a {kind} that exists, or describe this one."),
            },
            Self::NoFleet => "Add a document of kind Fleet.".into(),
            Self::TwoFleets { .. } => "Merge the two into one document.".into(),
            Self::Ipv6 { .. } => "Write an IPv4 range; IPv6 is not supported yet.".into(),
            Self::HostBits { meant, .. } => format!("Write `{meant}`."),
            Self::PrefixTooLong { longest, .. } => {
                format!("Write a range of at most /{longest}.")
            }
            Self::PoolReserved { .. } => "Choose a private range, such as 10.1.0.0/16.".into(),
            Self::RangesOverlap { .. } | Self::PoolInFabric { .. } => {
                "Choose ranges without common addresses.".into()
            }
            Self::RangeTooSmall { key, .. } => match *key {
                "firstAsn" => "Begin with a smaller number.".into(),
                _ => "Choose a larger range.".into(),
            },
            Self::TooMany { .. } => "Divide the fleet into several.".into(),
            Self::TooManyPorts { .. } => "Put fewer racks on a leaf.".into(),
            Self::NoSpine { .. } => "Add at least one spine.".into(),
            Self::NotATunnelEndpoint { .. } => {
                "Remove it, or enforce the node on `host` or `dpu`.".into()
            }
            Self::LoopbackInCables { .. } => "Choose an address outside of that range.".into(),
            Self::Shared { key, .. } => match *key {
                "asn" => "Choose a number that nobody has.".into(),
                _ => "Choose an address that nobody has.".into(),
            },
            Self::PartitionTwice { .. } | Self::ModuleTwice { .. } => "Name it once.".into(),
            Self::OneForEach { count, .. } => format!("Write {count} numbers, or leave it out."),
            Self::PciTwice { .. } => "Give each device its own.".into(),
            Self::OneAddressEach { count, .. } => {
                format!("Write {count} addresses in the order of module ids, or leave it out.")
            }
            Self::NoPciAddresses { model, .. } => {
                format!("Give model `{model}` `gpuPci` and `nicPci`, as `lspci -D` shows them.")
            }
            Self::LayerAlone { needs, .. } => format!("Name `{needs}` too."),
            Self::Unseen { layer, .. } => {
                format!("Name `{layer}` among the fleet's `layers`, or take the demand away.")
            }
            Self::TooManyNics { most, .. } => format!("Use at most {most}, or name no layers."),
            Self::NoNameForManager { .. } => "Rename the device, its pod or its rack.".into(),
            Self::NoParent { parent, .. } => format!("Add a tenant `{parent}`."),
            Self::Weaker { above, what, .. } => weaker_remedy(what, above),
            Self::BreaksGuardrail { what, limit, .. } => weaker_remedy(what, limit),
            Self::NoJurisdictionLeft { .. } => "Let the jurisdictions above it overlap.".into(),
            Self::GuaranteeAboveCeiling { .. } => {
                "Lower the guarantee or raise the ceiling.".into()
            }
            Self::CeilingAboveTenant { above, .. } => weaker_remedy("ceiling", above),
            Self::ReservedAboveQuota { quota, .. } => {
                format!("Reserve at most {quota}, or raise the quota.")
            }
            Self::ReservedTwice { above, .. } => {
                format!("Reserve less below `{above}`, or more for it.")
            }
            Self::ApartFromItself { .. } => {
                "Name tenants that are neither above nor below it.".into()
            }
            Self::NoPool { .. } => "Add `pools` to it or to a tenant above it.".into(),
            Self::NobodyIsForeign => "Name the tenant whose subtree stays closed.".into(),
            Self::ForeignPermit { .. } => {
                "Remove the permit, or ask the owner of the guardrail.".into()
            }
            Self::RocePermit => "Put what must speak RoCE into one job.".into(),
            Self::PermitWithItself { .. } => {
                "Remove it: the endpoints of one job meet anyway.".into()
            }
            Self::JobIsTenant { .. } => "Rename the job.".into(),
            Self::NotWholeSegments { sizes, .. } => {
                let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
                format!("Ask for a multiple of {}, or for another segment.", sizes.join(" or "))
            }
            Self::PreemptiblePreempts { .. } => {
                "Remove `preempts`, or ask for another capacity.".into()
            }
            Self::EndpointTaken { .. } => "Give it to one of the two.".into(),
            Self::NoSuchNic { count, .. } => {
                format!("Write a number from 0 to {}.", count.saturating_sub(1))
            }
            Self::LeavesPod { .. } => "Choose endpoints of one pod.".into(),
        }
    }
}

fn weaker_remedy(what: &str, above: &str) -> String {
    match what {
        "grade" => format!("Write `{above}` or a stricter grade, or leave it out."),
        "apartLevel" => format!("Write `{above}` or a wider level, or leave it out."),
        "quota" | "ceiling" | "reserved" | "onDemand" | "preemptible" | "maxAgeSeconds" => {
            format!("Write at most {above}, or leave it out.")
        }
        "jurisdictions" => format!("Choose among {above}, or leave it out."),
        "measurement" => format!("Write {above}, or leave it out."),
        "secureBoot" => "Write `true`, or leave it out.".into(),
        _ => format!("Write at least {above}, or leave it out."),
    }
}

fn quoted(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYaml { said } => write!(f, "this is no YAML: {said}"),
            Self::TooDeep { most } => write!(f, "values are nested more than {most} deep"),
            Self::Alias => f.write_str("anchors and aliases are not read"),
            Self::YamlTag => f.write_str("YAML tags are not read"),
            Self::KeyIsNoText => f.write_str("a list or a map is no key"),
            Self::TwoValues => f.write_str("a second value stands in this document"),
            Self::DuplicateKey { key, first } => {
                write!(f, "key `{key}` is already at {first}")
            }
            Self::UnknownKey { key, within, .. } => {
                write!(f, "unknown key `{key}` in {within}")
            }
            Self::MissingKey { key, within } => write!(f, "key `{key}` is missing in {within}"),
            Self::NotAMap { what, found } => write!(f, "{what} is a map, found {found}"),
            Self::WrongType { key, expected, found } => {
                write!(f, "`{key}` takes {expected}, found {found}")
            }
            Self::WrongWord { key, found, .. } => write!(f, "`{found}` is no `{key}`"),
            Self::BadValue { key, found, .. } => {
                write!(f, "`{found}` cannot be read as `{key}`")
            }
            Self::OutOfRange { key, found, .. } => {
                write!(f, "`{key}` cannot be {found}")
            }
            Self::EmptyList { key } => write!(f, "`{key}` is empty"),
            Self::EitherOr { keys, given } => match given.is_empty() {
                true => write!(f, "none of {} is given", quoted(keys)),
                false => write!(f, "{} are given together", quoted(given)),
            },
            Self::Pointless { key, beside } => {
                write!(f, "`{key}` means nothing beside `{beside}`")
            }
            Self::WrongApiVersion { found } => write!(f, "API version `{found}` is not known"),
            Self::UnknownKind { found, .. } => write!(f, "kind `{found}` is not known"),
            Self::BadName { found } => write!(f, "`{found}` is no name"),
            Self::DuplicateName { kind, name, first } => {
                write!(f, "{kind} `{name}` is already at {first}")
            }
            Self::Dangling { kind, name, .. } => write!(f, "there is no {kind} `{name}`"),
            Self::NoFleet => f.write_str("no document describes the fleet"),
            Self::TwoFleets { name, first } => {
                write!(f, "fleet `{name}` is the second, the first is at {first}")
            }
            Self::Ipv6 { key, found } => write!(f, "`{key}` cannot be IPv6: {found}"),
            Self::HostBits { key, found, .. } => {
                write!(f, "`{key}` has an address inside of its range: {found}")
            }
            Self::PrefixTooLong { found, .. } => {
                write!(f, "pool {found} has no room for a gateway and endpoints")
            }
            Self::PoolReserved { found, range, what } => {
                write!(f, "pool {found} overlaps {range}, which is {what}")
            }
            Self::PoolInFabric { found, range } => {
                write!(f, "pool {found} overlaps {range}, which has the fabric's own addresses")
            }
            Self::RangesOverlap { range, other, place } => {
                write!(f, "range {range} overlaps {other} at {place}")
            }
            Self::RangeTooSmall { key, range, holds, needs } => {
                write!(f, "`{key}` {range} has room for {holds}, the fleet needs {needs}")
            }
            Self::TooMany { what, count, most } => {
                write!(f, "the fleet has {count} {what}, at most {most} are possible")
            }
            Self::TooManyPorts { switch, ports } => {
                write!(f, "switch `{switch}` needs {ports} ports, 65535 can be numbered")
            }
            Self::NoSpine { leaves } => write!(f, "{leaves} leaves have no spine to join them"),
            Self::NotATunnelEndpoint { node } => {
                write!(f, "node `{node}` is enforced on its leaf and has neither loopback nor AS")
            }
            Self::LoopbackInCables { address, cables } => {
                write!(f, "loopback {address} is inside of the cables' {cables}")
            }
            Self::Shared { key, value, device, other } => {
                write!(f, "{key} {value} of `{device}` is also that of `{other}`")
            }
            Self::PartitionTwice { modules } => write!(f, "partition {modules:?} is there already"),
            Self::ModuleTwice { module } => write!(f, "module {module} is twice in one partition"),
            Self::OneForEach { key, found, count, of } => {
                write!(f, "`{key}` has {found} numbers for {count} {of}")
            }
            Self::PciTwice { address } => write!(f, "two devices sit at {address}"),
            Self::OneAddressEach { key, found, count } => {
                write!(f, "`{key}` has {found} addresses for {count} devices")
            }
            Self::NoPciAddresses { layer, model } => {
                write!(
                    f,
                    "layer `{layer}` names devices by PCI address, and model `{model}` has none"
                )
            }
            Self::LayerAlone { layer, needs } => {
                write!(f, "layer `{layer}` vouches for what only layer `{needs}` describes")
            }
            Self::Unseen { demand, .. } => {
                write!(f, "`{demand}` is demanded, and no layer of the fleet could show it")
            }
            Self::TooManyNics { model, most } => {
                write!(f, "model `{model}` has more than {most} interfaces, too many for layers")
            }
            Self::NoNameForManager { name } => {
                write!(f, "the manager `{name}` needs a name that is short and free")
            }
            Self::NoParent { tenant, parent } => {
                write!(f, "tenant `{tenant}` is below `{parent}`, which does not exist")
            }
            Self::Weaker { what, tenant, own, parent, above, place } => write!(
                f,
                "{what} {own} of tenant `{tenant}` is weaker than {above}, \
                 which it inherits from `{parent}` ({place})"
            ),
            Self::BreaksGuardrail { what, tenant, own, guardrail, limit, place } => write!(
                f,
                "{what} {own} of tenant `{tenant}` breaks guardrail `{guardrail}`, \
                 which demands {limit} ({place})"
            ),
            Self::NoJurisdictionLeft { tenant } => {
                write!(f, "all above tenant `{tenant}` together leave it no jurisdiction")
            }
            Self::GuaranteeAboveCeiling { tenant, guarantee, ceiling, place } => write!(
                f,
                "guarantee {guarantee} of tenant `{tenant}` is above its ceiling {ceiling} ({place})"
            ),
            Self::CeilingAboveTenant { job, ceiling, above, place } => write!(
                f,
                "ceiling {ceiling} of job `{job}` is above {above}, that of its tenant ({place})"
            ),
            Self::ReservedAboveQuota { tenant, reserved, quota, place } => write!(
                f,
                "reservation {reserved} of tenant `{tenant}` is above its quota {quota} ({place})"
            ),
            Self::ReservedTwice { tenant, reserved, above, taken, whole, place } => write!(
                f,
                "reservation {reserved} of tenant `{tenant}` brings those below `{above}` to \
                 {taken}, more than its {whole} ({place})"
            ),
            Self::ApartFromItself { tenant, from } => {
                write!(f, "tenant `{tenant}` cannot keep away from `{from}`, its own kin")
            }
            Self::NoPool { tenant, job } => {
                write!(f, "tenant `{tenant}` has no addresses for its job `{job}`")
            }
            Self::NobodyIsForeign => {
                f.write_str("`noForeignPermits` for every tenant: nobody is foreign to all")
            }
            Self::ForeignPermit { peer, subtree, guardrail, place } => write!(
                f,
                "peer `{peer}` is outside of `{subtree}`, which guardrail `{guardrail}` \
                 closes ({place})"
            ),
            Self::RocePermit => f.write_str("UDP 4791 is RoCE, which is kept strictly to one job"),
            Self::PermitWithItself { job } => write!(f, "job `{job}` is its own peer"),
            Self::JobIsTenant { path, place } => {
                write!(f, "job `{path}` has the path of a tenant ({place})")
            }
            Self::NotWholeSegments { gpus, segment, .. } => write!(
                f,
                "{gpus} GPUs are no whole number of segments of {segment} nodes on any node model \
                 that suits the job"
            ),
            Self::PreemptiblePreempts { preempts } => write!(
                f,
                "a preemptible job may not stop others, but this one has `preempts: {preempts}`"
            ),
            Self::EndpointTaken { endpoint, job, place } => {
                write!(f, "endpoint `{endpoint}` is already that of job `{job}` ({place})")
            }
            Self::NoSuchNic { node, nic, count } => {
                write!(f, "node `{node}` has no interface {nic}, it has {count}")
            }
            Self::LeavesPod { endpoint, pod, home } => {
                write!(f, "endpoint `{endpoint}` is in pod `{pod}`, its job in `{home}`")
            }
        }
    }
}
