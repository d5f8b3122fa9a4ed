//! What can be wrong: each with how bad it is and what to do about it.

use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Severity {
    /// Owners who must not meet can. Act at once.
    Critical,
    /// A fence between owners is down, or nobody can tell whether it stands; others may still hold.
    High,
    /// Somebody does not get what was promised.
    Medium,
    /// Nobody is harmed by it yet.
    Low,
}

impl Severity {
    /// Every one, the worst first.
    pub const ALL: [Self; 4] = [Self::Critical, Self::High, Self::Medium, Self::Low];

    /// The word for programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// Makes one table into codes, their words, severities and remedies. A row without one of them
/// does not compile.
macro_rules! codes {
    ($($code:ident $word:literal $severity:ident $remedy:literal;)+) => {
        /// What kind of finding it is.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[allow(missing_docs, reason = "each one's word and remedy say what it is")]
        pub enum Code {
            $($code,)+
        }

        impl Code {
            /// Every one.
            pub const ALL: &[Self] = &[$(Self::$code,)+];

            /// The short word for programs and searches.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$code => $word,)+
                }
            }

            /// How bad it is.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self {
                    $(Self::$code => Severity::$severity,)+
                }
            }

            /// What to do about it.
            #[must_use]
            pub const fn remedy(self) -> &'static str {
                match self {
                    $(Self::$code => $remedy,)+
                }
            }
        }
    };
}

codes! {
    // Packets, and who else shares a place.
    Breach "breach" Critical "apply the plan again: one of these lines joins them";
    Severed "severed" Medium "apply the plan again: a line between them is missing or wrong";
    Disagree "disagree" High "send the plan again to both layers";

    // Texts.
    UnknownLine "unknown-line" High "take the line away, or teach the dialect what it means";
    MissingLine "missing-line" High "put the line back, or apply the plan again";
    ExpiredWaiver "expired-waiver" Medium "renew the waiver, or take it and its line away";
    Silent "silent" High "ask the device again: without this text nobody can judge it";
    Contradiction "contradiction" High "take one of the two lines away";

    // Routes.
    AutomaticTarget "automatic-target" High "name the route targets, both import and export";
    NoDistinguisher "no-distinguisher" Medium "give it a route distinguisher of its own";
    SharedLoopback "shared-loopback" High "give each device an address of its own";
    SharedDistinguisher "shared-distinguisher" High "give each scope a distinguisher of its own";
    DeadImport "dead-import" Low "take the import away, or let its owner export the target";
    Joined "joined" High "take the import away, or write a permit on both sides";
    MisleadingImport "misleading-import" Medium "take the import away: permits need `reach` lines";
    MixedTarget "mixed-target" Medium "give segments and VRFs targets of their own";
    StrangeReach "strange-reach" High "take the `reach` line away, or write a permit on both sides";
    DeadReach "dead-reach" Low "take the `reach` line away";
    StrayRoute "stray-route" High "take the route away: it can lead out of its VRF";
    StrayForwarding "stray-forwarding" High "take the forwarding entry away: it can lead anywhere";
    StrayAddress "stray-address" High "take the address away from the device";
    HalfSession "half-session" Medium "let both devices name each other, in both address families";

    // Segments, VRFs and tunnels.
    SharedVrf "shared-vrf" High "give each tenant a VRF of its own";
    SharedBridge "shared-bridge" High "give each job a bridge domain of its own";
    SharedVni "shared-vni" High "give each owner a VNI of its own";
    SharedTag "shared-tag" High "give each job a tag of its own";
    SharedAddress "shared-address" Medium "bind the address in one place only";
    OpenVrf "open-vrf" High "let the VRF deny by default";
    Unrouted "unrouted" High "put the bridge domain into its tenant's VRF";
    NoVni "no-vni" Medium "give the VRF its VNI";
    DownVni "vni-down" Medium "give the VRF the VNI of its tunnel; on a switch say `vni … l3`";
    Learns "learns" High "switch learning off at the tunnel";
    Untagged "untagged" Medium "let the tunnel carry tags";
    StrangeSource "strange-source" Medium "send the tunnel from the device's own address";

    // Ports and the packet program.
    OpenProgram "open-program" High "let the packet program drop by default";
    UnfilteredPort "unfiltered-port" High "let the packet program stand at the port again";
    PortDown "port-down" Medium "set the port up again, or look at its cable";
    WrongMtu "wrong-mtu" Medium "set the port's MTU to that of the fabric";
    Unguarded "unguarded" High "let the port pass bound sources only";
    Unowned "unowned" High "detach the port, or plan a job that owns it";
    UnownedEntry "unowned-entry" High "take the line away, or plan a job that owns the port";
    Misbound "misbound" Medium "bind the port in the bridge domain that it is attached to";
    Outside "outside" Medium "give the bridge domain its gateway";
    OpenCable "open-cable" High "let the packet program stand at the cable";
    StrangeInterface "strange-interface" Medium "name the address of the interface that is there";
    LooseRule "loose-rule" High "take the rule away, or write a permit on both sides";
    OpenAnswers "open-answers" High "let the class match `stateful`, so that answers only answer";
    StrangeCable "strange-cable" High "take the address away, or name the cable in the fleet";
    StrangeSpace "strange-space" Medium "judge the VNI in the space of its VRF";
    StrangePeers "strange-peers" High "name the tunnel endpoint where the addresses are";

    // Promises.
    BrokenRates "broken-rates" Medium "apply the plan again: it holds the promised rates";
    BrokenTreatment "broken-treatment" Medium "apply the plan again: it holds the promised class";
    BrokenQueue "broken-queue" Medium "apply the plan again: it holds the promised queue";
    BrokenLink "broken-link" Medium "apply the plan again, or correct `uplinkRate`";

    // GPUs, and what joins them.
    Leftover "leftover" Low "take the line away";
    LeftoverPartition "leftover-partition" Low "deactivate the partition";
    LeftoverKey "leftover-key" Low "take the ports out of the partition";
    DoublePartition "double-partition" High "deactivate the partition that nobody planned";
    DefaultChannel "default-channel" High "give the job a memory channel of its own";
    LeftoverCut "leftover-cut" Low "make the GPU whole";
    UnknownPartition "unknown-partition" High "deactivate the partition";
    BadInstance "bad-instance" Medium "make the instance as the product has it";
    NobodysDriver "nobodys-driver" Low "unbind the GPU";
    OpenKey "open-key" High "make the members limited";

    // Nodes and machines.
    WrongRuntime "wrong-runtime" High "start the job in what its tenant asks for";
    NotConfidential "not-confidential" High "launch the machine as its tenant asks";
    FarMemory "far-memory" Medium "bind the machine's memory where its GPUs are";
    LooseMemory "loose-memory" Medium "bind the machine's memory where its GPUs are";
    UnviableGroup "unviable-group" High "unbind the host's function of the group too";
    OpenDevices "open-devices" High "name the files that the job needs";
    Drift "drift" Medium "put right what differs, or describe it in the fleet";
    MissingFunction "missing-function" Medium "look at the hardware, or correct the fleet";
    OldVersion "old-version" Medium "update the software, or place the tenant elsewhere";
    InsecureBoot "insecure-boot" High "boot the node securely, or place the tenant elsewhere";
    Unattested "unattested" High "attest the machine, or stop it";
    OldReport "old-report" Medium "attest the machine again";
    WrongMeasurement "wrong-measurement" High "launch the right image";
    WrongTechnology "wrong-technology" High "launch the machine with what its tenant asks for";
    StrayReport "stray-report" Low "take the line away";
    UnknownPast "unknown-past" High "tell from the log who had them last";
    OtherPast "other-past" High "apply the plan again: it says what the log says";

    // Slurm and Kubernetes.
    Unconstrained "unconstrained" High "set ConstrainDevices=yes";
    Unlabelled "unlabelled" High "set MCSPlugin=mcs/account";
    OpenQueue "open-queue" High "name the accounts of the partition";
    StrangeAccount "strange-account" High "take the account out of the partition";
    AcrossPods "across-pods" Medium "place the job in one pod";
    StrangeNode "strange-node" Medium "take the node away, or describe it in the fleet";
    NobodysNamespace "nobodys-namespace" High "say whose the namespace is, or empty it";
    OpenNamespace "open-namespace" High "deny by default in the namespace";
    LetsAnyone "lets-anyone" High "name who may in the policy";
    ShutNamespace "shut-namespace" Medium "let pods of the namespace do so";
    PermissiveTls "permissive-tls" High "make mutual TLS strict";
    OpenMesh "open-mesh" High "name who may call the namespace";
    NoQuota "no-quota" Medium "give the namespace its quota";
    WrongQuota "wrong-quota" Medium "send the plan again: it holds the right quota";
    NobodysVolumes "nobodys-volumes" High "say whose the class is, or take the quota away";
    NoRole "no-role" Medium "bind the group to its role";
    Unbounded "unbounded" Medium "give containers bounds by default";
    Unrestricted "unrestricted" High "restrict the namespace's pods";
    Unruled "unruled" High "send the plan again: it holds the rules for members of tenants";
    Ungoverned "ungoverned" High "label the namespace with what its tenant's jobs run in";
    Unmeshed "unmeshed" High "label the namespace so that its pods get the mesh's proxy";
    WrongFence "wrong-fence" High "send the plan again: it says whose the node is";
    WrongRole "wrong-role" High "take the binding away, or bind the role that is planned";
    JobsMeet "jobs-meet" High "let the pods of each job reach each other, job by job";
    ShutJob "shut-job" Medium "let the pods of the job reach each other";
    WideRole "wide-role" High "bind the role in one namespace";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
