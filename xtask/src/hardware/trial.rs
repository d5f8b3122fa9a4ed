//! What is tried in the machine, and what must come of it.

use std::fmt::Write as _;

use crate::Failure;
use crate::guest::Machine;

/// The two devices that stand for GPUs here, because nobody emulates one.
const DISCOVER: &str = "bulkhead discover --gpu-id 1234:11e8";

/// All trials, row by row.
pub(super) struct Trials {
    /// The node's text before any change.
    pub(super) discovered: String,
    rows: String,
    count: usize,
    wrong: usize,
}

impl Trials {
    pub(super) fn play(machine: &mut Machine) -> Result<Self, Failure> {
        machine.tell("split 4")?;
        let discovered = machine.tell(&format!("{DISCOVER} --dialect vfio"))?;
        let mut trials = Self { discovered, rows: String::new(), count: 0, wrong: 0 };
        trials.look(machine)?;
        trials.change(machine)?;
        Ok(trials)
    }

    pub(super) fn verdict(&self) -> String {
        format!("{} of {} as expected.", self.count - self.wrong, self.count)
    }

    pub(super) const fn are_right(&self) -> bool {
        self.wrong == 0
    }

    pub(super) fn table(&self) -> String {
        format!("| what | expected | seen | |\n|---|---|---|---|\n{}", self.rows)
    }

    /// What is discovered is what the kernel says and the emulator was told.
    fn look(&mut self, machine: &mut Machine) -> Result<(), Failure> {
        let functions: Vec<Function> = self.discovered.lines().filter_map(Function::read).collect();
        let of = |kind: &'static str| functions.iter().filter(move |found| found.kind == kind);
        let numa = |kind| words(of(kind).map(|function| function.numa.as_str()));
        self.row("NUMA node of the interface", "1", &numa("nic"));
        self.row("NUMA nodes of its virtual functions", "1 1 1 1", &numa("vf"));
        self.row("NUMA nodes of the two devices behind one bridge", "0 0", &numa("gpu"));
        let groups = |kind| {
            let mut groups: Vec<&str> = of(kind).map(|function| function.group.as_str()).collect();
            groups.sort_unstable();
            groups.dedup();
            groups.len()
        };
        let [gpus, vfs] = ["gpu", "vf"].map(groups);
        self.row(
            "IOMMU groups of the two devices, which two tenants must not share",
            "1",
            &gpus.to_string(),
        );
        self.row("IOMMU groups of the four virtual functions", "4", &vfs.to_string());
        let beneath = self.discovered.lines().filter(|line| line.starts_with("beneath "));
        let beneath = beneath.filter_map(|line| line.split(' ').nth(2));
        let both = words(of("gpu").map(|function| function.address.as_str()));
        let beneath = words(beneath);
        self.row("devices beneath a bridge without ACS", &both, &beneath);
        let versions = machine.tell(&format!("{DISCOVER} --dialect versions"))?;
        let kernel = format!("kernel {}", machine.tell("uname -r")?);
        self.row("version of the kernel", &kernel, versions.lines().next().unwrap_or_default());
        let is_secure = versions.lines().last().unwrap_or_default();
        self.row("whether it booted securely", "secure-boot no", is_secure);
        let code = machine.ask(DISCOVER)?.code.to_string();
        self.row("end of `discover`, with a GPU that nobody listed", "1", &code);
        Ok(())
    }

    /// A virtual function is given to a virtual machine, and taken away again.
    fn change(&mut self, machine: &mut Machine) -> Result<(), Failure> {
        let vf = self.discovered.lines().filter_map(Function::read);
        let Some(vf) = vf.into_iter().filter(|function| function.kind == "vf").nth(1) else {
            self.row("a second virtual function", "there", "not there");
            return Ok(());
        };
        let Function { address, group, .. } = &vf;
        let plain: Vec<String> = self
            .discovered
            .lines()
            .filter(|line| Function::read(line).is_some_and(|function| function.kind != "other"))
            .map(|line| format!("'{line}'"))
            .collect();
        let plain = plain.join(" ");
        let given = format!("hold {plain} 'bind {address} vfio-pci'");
        let host = machine.tell(&format!("driver {address}"))?;
        let mut hold = |machine: &mut Machine, what: &str, wish: &str, expected: &str| {
            let said = machine.ask(wish)?.text.replace('\n', "; ");
            self.row(what, expected, &said);
            Ok::<(), Failure>(())
        };
        let done = format!("{address} from {host} to vfio-pci; 1 changed");
        hold(machine, "a virtual function is given to `vfio-pci`", &given, &done)?;
        let held = format!("{DISCOVER} --dialect vfio | grep bind");
        let bound = format!("bind {address} vfio-pci");
        hold(machine, "what is discovered then", &held, &bound)?;
        let file = format!("ls /dev/vfio/{group}");
        hold(machine, "the file of its group", &file, &format!("/dev/vfio/{group}"))?;
        hold(machine, "the same again", &given, "0 changed")?;
        let wrong = format!("hold {plain} 'bind {address} nvidia'");
        let lacks = "there is no /sys/bus/pci/drivers/nvidia: the kernel has no driver nvidia; load \
                     it by `modprobe nvidia`, or install a kernel that has it";
        hold(machine, "a driver that the kernel has not", &wrong, lacks)?;
        let gone = format!("driver {address}");
        hold(machine, "its driver after that: it was taken away first", &gone, "nothing")?;
        hold(machine, "the same without it", &format!("hold {plain}"), "0 changed")
    }

    fn row(&mut self, what: &str, expected: &str, seen: &str) {
        let is_right = expected == seen;
        let verdict = if is_right { "as expected" } else { "**WRONG**" };
        let [expected, seen] = [expected, seen].map(|text| text.replace('`', "'"));
        let row = format!("| {what} | `{expected}` | `{seen}` | {verdict} |\n");
        print!("{row}");
        // Writing into a String cannot fail.
        let _ = write!(self.rows, "{row}");
        self.count += 1;
        self.wrong += usize::from(!is_right);
    }
}

/// A line `function ADDRESS KIND … group G numa N`.
struct Function {
    address: String,
    kind: String,
    group: String,
    numa: String,
}

impl Function {
    fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let ["function", address, kind, .., "group", group, "numa", numa] = words[..] else {
            return None;
        };
        let [address, kind, group, numa] = [address, kind, group, numa].map(str::to_owned);
        Some(Self { address, kind, group, numa })
    }
}

fn words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(" ")
}
