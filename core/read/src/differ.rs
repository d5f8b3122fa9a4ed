//! Where what a device holds differs from what it was sent, statement by statement.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use model::Dialect;

use crate::dialect::{Compared, Description, Ignored, description};
use crate::lines::{self, Line, lines};
use crate::pattern;
use crate::pkey;
use crate::run::Run;
use crate::{Fact, Hold};

/// One statement that only one of two texts makes.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Difference {
    /// Whether it is missing in what is held, or too much.
    pub is_missing: bool,
    /// The blocks it stands in, outermost first; none in dialects without blocks.
    pub blocks: Vec<String>,
    /// The statement, its words one space apart.
    pub statement: String,
    /// Its line: in the text that was sent if it is missing, in what is held otherwise.
    pub line: u32,
}

/// What a device holds otherwise than it was sent, statement by statement: first what is too much,
/// then what is missing, each in the order of its lines. Neither the order of statements matters,
/// nor how often one stands there, nor do lines that are none of our business (names, logs,
/// versions).
///
/// The line that opens a block is a statement of the block around it. So a whole block that only
/// one text has is one difference for its opening line, with the blocks around it as `blocks`,
/// followed by one for each statement inside of it, with the opening line as the last of `blocks`;
/// whoever removes the block by its opening line need not remove what is inside. A block that both
/// have is never a difference, whatever is missing inside of it. FRR's `vrf t17` is a block and no
/// statement: FRR has one for every VRF that it sees.
///
/// Runs of addresses (`peers` of a table, `reach` of a Linux device) are compared by what they
/// stand for: however a device divides or joins them, and with or without `every`, they are equal.
/// What differs is said in runs of the longest length, without `every`. A table that names an
/// endpoint of the device need not name it as a peer behind the device itself, and may.
///
/// What libvirt, Slurm and Kubernetes hold is compared by its claims, each in its words: they add
/// and order as they like.
///
/// The members of an InfiniBand partition are compared one by one, in any order and however many
/// stand on a line; each that differs is said as a statement of its own.
#[must_use]
pub fn differences(dialect: Dialect, sent: &str, held: &str) -> Vec<Difference> {
    if sent == held {
        return Vec::new();
    }
    let mut statements = Statements::default();
    let sent = Said::new(dialect, sent, &mut statements);
    let held = Said::new(dialect, held, &mut statements);
    let mut differences = held.without(&sent, &statements, false);
    differences.extend(sent.without(&held, &statements, true));
    differences
}

/// The statements of two texts, each with a number. Where both say the same in the same block, it
/// has the same number, so that no text is copied and each line is looked up once.
#[derive(Default)]
struct Statements<'a> {
    numbers: BTreeMap<(Option<usize>, Cow<'a, str>), usize>,
    /// By number: the statement that opens the block around it, and its own words.
    all: Vec<(Option<usize>, Cow<'a, str>)>,
}

impl<'a> Statements<'a> {
    fn number(&mut self, block: Option<usize>, words: Cow<'a, str>) -> usize {
        let number = *self.numbers.entry((block, words.clone())).or_insert(self.all.len());
        if number == self.all.len() {
            self.all.push((block, words));
        }
        number
    }

    fn difference(&self, number: usize, line: u32, is_missing: bool) -> Difference {
        let mut blocks = Vec::new();
        let (block, words) = &self.all[number];
        let mut around = *block;
        while let Some(number) = around {
            let (block, words) = &self.all[number];
            blocks.push(words.to_string());
            around = *block;
        }
        blocks.reverse();
        Difference { is_missing, blocks, statement: words.to_string(), line }
    }
}

/// All that a text says, so that two of them can be compared.
#[derive(Default)]
struct Said {
    /// Where the statement with this number stands first; 0 where it does not, and after the last.
    lines: Vec<u32>,
    /// Addresses that stand in runs, by all that is said about them, in their order.
    runs: BTreeMap<About, Vec<Stretch>>,
}

/// What a line says about the addresses of a run that are behind one tunnel endpoint.
#[derive(Clone, Eq, Ord, PartialEq, PartialOrd)]
struct About {
    /// The words before the run.
    before: String,
    /// The words between the run and the tunnel endpoint, the word `vtep` included.
    between: String,
    vtep: Ipv4Addr,
    /// The words after the tunnel endpoint, without `every`.
    after: String,
}

/// Addresses from the first to the last, and the line that names the first.
#[derive(Clone, Copy)]
struct Stretch {
    first: u32,
    last: u32,
    line: u32,
}

impl Said {
    fn new<'a>(dialect: Dialect, text: &'a str, all: &mut Statements<'a>) -> Self {
        match description(dialect).compared {
            Compared::Blocks => Self::in_blocks(dialect, text, all),
            Compared::Claims => Self::in_claims(dialect, text, all),
            Compared::Members => Self::in_members(text, all),
            Compared::Lines => Self::in_lines(text, all),
        }
    }

    /// A line stands in the block of the nearest line above that is indented less.
    fn in_blocks<'a>(dialect: Dialect, text: &'a str, all: &mut Statements<'a>) -> Self {
        let mut said = Self::default();
        let mut open: Vec<(usize, usize)> = Vec::new(); // indent and number of the lines around
        let description = description(dialect);
        for line in lines(text).filter(|line| is_compared(description, line.text)) {
            while open.last().is_some_and(|(indent, _)| *indent >= line.indent) {
                open.pop();
            }
            let block = open.last().map(|(_, number)| *number);
            let number = all.number(block, words_of(&line));
            open.push((line.indent, number));
            // FRR has a block for every VRF that it sees, whether it was told about it or not.
            if !(dialect == Dialect::Frr && line.indent == 0 && line.text.starts_with("vrf ")) {
                said.state(number, line.number);
            }
        }
        said
    }

    fn in_lines<'a>(text: &'a str, all: &mut Statements<'a>) -> Self {
        let mut said = Self::default();
        for line in lines(text).filter(is_said) {
            match run(&line) {
                Some((about, run)) => said.stretches(&about, run, line.number),
                None => said.state(all.number(None, words_of(&line)), line.number),
            }
        }
        said.runs.values_mut().for_each(join);
        said.forget_own_peers(text);
        said
    }

    /// libvirt, Slurm and Kubernetes add what is theirs and print in an order of their own, so that
    /// what they hold is compared by what it says. What Slurm gave to whom was never sent.
    fn in_claims<'a>(dialect: Dialect, text: &'a str, all: &mut Statements<'a>) -> Self {
        let mut said = Self::default();
        let reading = crate::claims(dialect, text);
        let is_sent = |fact: &Fact| !matches!(fact, Fact::Holds(Hold::Allocated { .. }));
        for claim in reading.claims.iter().filter(|claim| is_sent(&claim.fact)) {
            said.state(all.number(None, claim.fact.to_string().into()), claim.line);
        }
        for unknown in reading.unknown {
            said.state(all.number(None, unknown.text.into()), unknown.line);
        }
        said
    }

    /// Every member of an InfiniBand partition by itself: neither their order matters, nor over how
    /// many lines they are spread.
    fn in_members<'a>(text: &'a str, all: &mut Statements<'a>) -> Self {
        let mut said = Self::default();
        pkey::each(text, |line, statement| {
            let words = match statement {
                Ok(pkey::Said::Nothing) => return,
                Ok(statement) => statement.to_string().into(),
                Err(_) => words_of(line),
            };
            said.state(all.number(None, words), line.number);
        });
        said
    }

    /// Takes endpoints of the device out of the peers that are behind the device itself: the
    /// packet program keeps one record for an address.
    fn forget_own_peers(&mut self, text: &str) {
        if self.runs.is_empty() {
            return;
        }
        let word = |line: &Line<'_>| match line.words().as_slice() {
            ["vtep", at] => at.parse().ok(),
            _ => None,
        };
        let begins = |word| move |line: &Line<'_>| line.text.starts_with(word);
        let mut vteps = lines(text).filter(begins("vtep"));
        let Some(vtep) = vteps.find_map(|line| word(&line)) else { return };
        let mut own: BTreeMap<About, Vec<Stretch>> = BTreeMap::new();
        for line in lines(text).filter(begins("endpoint")) {
            if let Some((about, address)) = endpoint(&line, vtep) {
                let stretch = Stretch { first: address, last: address, line: line.number };
                own.entry(about).or_default().push(stretch);
            }
        }
        for (about, mut endpoints) in own {
            join(&mut endpoints);
            if let Some(peers) = self.runs.get_mut(&about) {
                *peers = remainder(peers, &endpoints);
            }
        }
    }

    fn state(&mut self, number: usize, line: u32) {
        if self.lines.len() <= number {
            self.lines.resize(number + 1, 0);
        }
        if self.lines[number] == 0 {
            self.lines[number] = line;
        }
    }

    /// The line of a statement, if it is made.
    fn line(&self, number: usize) -> Option<u32> {
        self.lines.get(number).copied().filter(|line| *line > 0)
    }

    fn stretches(&mut self, about: &About, run: Run, line: u32) {
        for (first, last, vtep) in run.blocks() {
            let about = About { vtep, ..about.clone() };
            self.runs.entry(about).or_default().push(Stretch { first, last, line });
        }
    }

    /// What this text says and the other does not, in the order of its lines.
    fn without(&self, other: &Self, all: &Statements<'_>, is_missing: bool) -> Vec<Difference> {
        let only_here = (0..self.lines.len()).filter(|number| other.line(*number).is_none());
        let only_here = only_here.filter_map(|number| Some((number, self.line(number)?)));
        let mut differences: Vec<Difference> =
            only_here.map(|(number, line)| all.difference(number, line, is_missing)).collect();
        differences.sort();
        let runs = self.runs.iter().flat_map(|(about, ours)| {
            let theirs = other.runs.get(about).map_or(&[][..], Vec::as_slice);
            let rest = remainder(ours, theirs).into_iter();
            rest.map(move |stretch| about.difference(stretch, is_missing))
        });
        differences.extend(runs);
        differences.sort_by_key(|difference| difference.line);
        differences
    }
}

impl About {
    fn difference(&self, stretch: Stretch, is_missing: bool) -> Difference {
        let Self { before, between, vtep, after } = self;
        let [first, last] = [stretch.first, stretch.last].map(Ipv4Addr::from);
        let statement = format!("{before} {first}-{last} {between} {vtep} {after}");
        Difference { is_missing, blocks: Vec::new(), statement, line: stretch.line }
    }
}

/// Whether a line is one that two devices with the same policy need to have in common. Neither are
/// names, logs and versions, nor the ends of blocks, which say nothing that the indentation does not.
fn is_compared(description: &Description, text: &str) -> bool {
    let is_free = |ignored: &Ignored| !ignored.is_compared && pattern::matches(ignored.line, text);
    let mut apart = description.uncompared.iter();
    !text.is_empty()
        && !description.ignored.iter().any(is_free)
        && !apart.any(|line| pattern::matches(line, text))
}

/// Whether a line of a dialect without blocks says anything.
fn is_said(line: &Line<'_>) -> bool {
    !line.text.is_empty() && !line.text.starts_with('#')
}

/// Its words, one space apart, as they stand there if they do so already.
fn words_of<'a>(line: &Line<'a>) -> Cow<'a, str> {
    let mut before = 0;
    let is_apart = |byte: u8| {
        let is_odd = byte == b'\t' || (byte == b' ' && before == b' ');
        before = byte;
        !is_odd
    };
    match line.text.bytes().all(is_apart) {
        true => Cow::Borrowed(line.text),
        false => Cow::Owned(lines::words(line.text).collect::<Vec<_>>().join(" ")),
    }
}

/// A line about a run of addresses. One that is not written well is a statement like any other.
fn run(line: &Line<'_>) -> Option<(About, Run)> {
    if !line.text.starts_with("peers") && !line.text.starts_with("reach") {
        return None; // most lines
    }
    let words = line.words();
    let (before, addresses, between, rest) = match words.as_slice() {
        ["peers", space, addresses, "vtep", rest @ ..] => {
            (format!("peers {space}"), addresses, String::from("vtep"), rest)
        }
        ["reach", addresses, "vrf", vrf, "vtep", rest @ ..] => {
            (String::from("reach"), addresses, format!("vrf {vrf} vtep"), rest)
        }
        _ => return None,
    };
    let (run, after) = match rest {
        [vtep, "every", every, after @ ..] => (Run::read(addresses, vtep, Some(every)), after),
        [vtep, after @ ..] => (Run::read(addresses, vtep, None), after),
        [] => return None,
    };
    let run = run.ok()?;
    Some((About { before, between, vtep: run.vtep, after: after.join(" ") }, run))
}

/// An endpoint of a table, as the peer behind this tunnel endpoint that it also is.
fn endpoint(line: &Line<'_>, vtep: Ipv4Addr) -> Option<(About, u32)> {
    let words = line.words();
    let ["endpoint", space, address, .., "tag", tag] = words.as_slice() else { return None };
    let about = About {
        before: format!("peers {space}"),
        between: "vtep".into(),
        vtep,
        after: format!("tag {tag}"),
    };
    Some((about, u32::from(address.parse::<Ipv4Addr>().ok()?)))
}

/// Sorts stretches, and joins those that touch or overlap.
fn join(stretches: &mut Vec<Stretch>) {
    stretches.sort_by_key(|stretch| (stretch.first, stretch.line));
    stretches.dedup_by(|next, kept| {
        let touches = kept.last == u32::MAX || next.first <= kept.last + 1;
        if touches {
            kept.last = kept.last.max(next.last);
        }
        touches
    });
}

/// The addresses of one list that are not in the other. Both are joined.
fn remainder(ours: &[Stretch], theirs: &[Stretch]) -> Vec<Stretch> {
    let mut rest = Vec::new();
    let mut theirs = theirs.iter().peekable();
    for &stretch in ours {
        let mut left = Some(stretch);
        while let (Some(here), Some(&&other)) = (left, theirs.peek())
            && other.first <= here.last
        {
            if other.first > here.first {
                rest.push(Stretch { last: other.first - 1, ..here });
            }
            let after = other.last.checked_add(1).filter(|&first| first <= here.last);
            left = after.map(|first| Stretch { first: first.max(here.first), ..here });
            if left.is_some() {
                theirs.next();
            }
        }
        rest.extend(left);
    }
    rest
}
