//! What is done on the host: the lab, the network beside it, and the filter's counters.

use std::collections::BTreeMap;

use crate::guest::must;
use crate::{Failure, shell};

/// The lab's name. Its namespaces begin with it, and so does the one that is made here: whatever
/// happens, `lab down` takes it away with the others.
const LAB: &str = "roce";
const LEAVES: [&str; 2] = ["leaf-1", "leaf-2"];

/// Dropped packets by leaf, hook and reason.
pub(super) type Drops = BTreeMap<(String, String, String), u64>;

/// A lab that is taken down when this goes away.
pub(super) struct Lab {
    bulkhead: String,
}

impl Lab {
    /// Builds the product, takes down what a run before may have left, and brings the lab up.
    pub(super) fn up() -> Result<Self, Failure> {
        must(&["cargo", "build", "--quiet", "--package", "bulkhead"])?;
        let bulkhead = shell::target()?.join("debug/bulkhead").display().to_string();
        let lab = Self { bulkhead };
        lab.down();
        let size = ["--leaves", "2", "--spines", "1", "--tenants", "3"];
        let line = [lab.bulkhead.as_str(), "lab", "up", "--name", LAB];
        must(&[line.as_slice(), &size].concat())?;
        Ok(lab)
    }

    /// What the filters of all leaves have dropped so far.
    pub(super) fn drops(&self) -> Result<Drops, Failure> {
        let mut all = Drops::new();
        for leaf in LEAVES {
            let own = self.bulkhead.as_str();
            let line = [own, "lab", "exec", "--name", LAB, leaf, "--", own, "filter", "stats"];
            let said = shell::output(&line)
                .ok_or_else(|| Failure::Broken(format!("`{}` tells nothing", line.join(" "))))?;
            for (hook, reason, packets) in dropped(&said) {
                *all.entry((leaf.to_owned(), hook, reason)).or_default() += packets;
            }
        }
        Ok(all)
    }

    fn down(&self) {
        // There may be none, and a test that failed says more than a lab that stays.
        let _ = shell::output(&[&self.bulkhead, "lab", "down", "--name", LAB]);
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.down();
    }
}

/// The network namespace of a device or workload of the lab.
pub(super) fn namespace(inhabitant: &str) -> String {
    format!("bh-{LAB}-{}", inhabitant.replace('/', "."))
}

/// What `ip` prints.
pub(super) fn ip(words: &[&str]) -> Result<String, Failure> {
    let line = [&["ip"], words].concat();
    shell::output(&line).ok_or_else(|| Failure::Broken(format!("`{}` failed", line.join(" "))))
}

/// Has `ip` do these, up to the first that fails.
pub(super) fn batch(lines: &[&str]) -> Result<(), Failure> {
    for line in lines {
        let words: Vec<&str> = ["ip"].into_iter().chain(line.split(' ')).collect();
        must(&words)?;
    }
    Ok(())
}

/// Hook, reason and packets in the filter's account of what it dropped.
fn dropped(stats: &str) -> impl Iterator<Item = (String, String, u64)> {
    let rows = stats.lines().skip_while(|line| *line != "Dropped").skip(1);
    rows.take_while(|line| !line.is_empty()).filter_map(|row| {
        let cells: Vec<&str> = row.split_whitespace().collect();
        let [_, hook, reason, packets, _] = cells[..] else {
            return None;
        };
        let packets = packets.replace(',', "").parse().ok()?;
        Some((hook.to_owned(), reason.to_owned(), packets))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_found_among_the_other_counters() {
        let stats = "\
Jobs
  tenant  job or tag  sent  bytes  received  bytes
  red     red/train      7    600         7    600

Dropped
  job or tag  hook      reason    packets    bytes
  red/train   workload  roce        1,024  110,592
  -           fabric    untagged        3      300

Verdicts at each hook, beside the traffic of one job
  hook      verdict  packets  bytes
  workload  roce       1,024    110
";
        let found: Vec<_> = dropped(stats).collect();
        let row = |hook: &str, reason: &str, packets| (hook.into(), reason.into(), packets);
        assert_eq!(found, [row("workload", "roce", 1024), row("fabric", "untagged", 3)]);
    }
}
