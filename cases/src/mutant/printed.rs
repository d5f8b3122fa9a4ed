//! What a device prints, as a set of statements, each with the blocks that it stands in.

use std::collections::BTreeSet;

/// A line, and the lines that open the blocks around it, the outermost first.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(in crate::mutant) struct Statement {
    pub(in crate::mutant) within: Vec<String>,
    pub(in crate::mutant) line: String,
}

impl Statement {
    /// The words of the line.
    pub(in crate::mutant) fn words(&self) -> Vec<&str> {
        self.line.split(' ').collect()
    }

    /// The VRF whose block it stands in, or that it opens.
    pub(in crate::mutant) fn vrf(&self) -> Option<&str> {
        let head = self.within.first().unwrap_or(&self.line);
        match head.split(' ').collect::<Vec<_>>()[..] {
            ["vrf", name] | ["router", "bgp", _, "vrf", name] => Some(name),
            _ => None,
        }
    }

    /// Whether a VRF takes this target from other VRFs of its switch.
    pub(in crate::mutant) fn vrf_takes(&self, target: &str) -> bool {
        self.is_leak("import", target)
    }

    /// Whether a VRF gives this target to other VRFs of its switch.
    pub(in crate::mutant) fn vrf_gives(&self, target: &str) -> bool {
        self.is_leak("export", target)
    }

    fn is_leak(&self, way: &str, target: &str) -> bool {
        let is_of_vrf = self.within.first().is_some_and(|block| block.starts_with("vrf context"));
        is_of_vrf && self.line == format!("route-target {way} {target}")
    }

    /// The address family that it stands in.
    pub(in crate::mutant) fn family(&self) -> &str {
        let mut within = self.within.iter();
        within.find_map(|line| line.strip_prefix("address-family ")).unwrap_or_default()
    }

    /// The VRF or the segment whose routes it is about, as the block that opens it.
    pub(in crate::mutant) fn scope(&self) -> String {
        let segment = self.within.iter().find(|line| line.starts_with("vni "));
        let segment = segment.filter(|_| self.vrf().is_none());
        segment.cloned().or_else(|| self.vrf().map(str::to_owned)).unwrap_or_default()
    }
}

/// All that it prints.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::mutant) struct Printed(pub(in crate::mutant) BTreeSet<Statement>);

impl Printed {
    pub(in crate::mutant) fn of(text: &str) -> Self {
        let mut open: Vec<(usize, String)> = Vec::new();
        let mut all = BTreeSet::new();
        for line in text.lines() {
            let indent = line.len() - line.trim_start().len();
            let words: Vec<&str> = line.split_whitespace().collect();
            // The name of a group is for people.
            let words = match words.as_slice() {
                ["security-group", tag, "name", _] => vec!["security-group", tag],
                _ => words,
            };
            let line = words.join(" ");
            if line.is_empty() || line.starts_with(['!', '#']) || line.starts_with("exit") {
                continue;
            }
            open.retain(|(outer, _)| *outer < indent);
            let within = open.iter().map(|(_, line)| line.clone()).collect();
            open.push((indent, line.clone()));
            all.insert(Statement { within, line });
        }
        Self(all)
    }

    /// Whether a statement of a scope begins with these words.
    pub(in crate::mutant) fn has(&self, scope: &str, begin: &str) -> bool {
        self.0.iter().any(|one| one.scope() == scope && one.line.starts_with(begin))
    }
}
