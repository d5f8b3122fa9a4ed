//! Captured frames, judged by the reference and by the kernel.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use filter::pcap::{Captured, Reader};
use filter::{Compiled, Fault, Limits, PutError, TrialFilter, TrialVerdict};
use model::{Generation, Port};
use serde::Serialize;
use wire::{Arrival, Hook, Reason, Tables, Verdict};

use super::{Output, put_stop};
use crate::documents::{Unreadable, text_of};
use crate::ending::{Ended, Stop};
use crate::words::{self, BAD, DIM, Format, GOOD, NOTE, examples, grouped, plural};

/// Judge captured frames by the reference and by the kernel
///
/// Each frame of the capture gets a verdict by the rule's reference and, with the privilege to
/// load a program, by the program in the kernel; nothing is attached and no packet is touched. The
/// exit code is 1 if the two differ anywhere.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead filter judge fabric.pcap --table leaf-2.table --hook fabric"
        => "what an uplink would let through",
    "tcpdump -w - -i eth0 -c 100 | bulkhead filter judge --table leaf-2.table --hook workload --port swp5"
        => "what a workload sends",
    "bulkhead filter judge in.pcap --table leaf-2.table --hook local --port swp5 --mark 1001"
        => "what reaches a workload with this tag",
))]
pub(crate) struct Judge {
    /// The capture, or `-` for the standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// The table to judge by
    #[arg(long, value_name = "FILE")]
    table: PathBuf,
    /// Where the frames are met
    #[arg(long, value_name = "HOOK", value_enum)]
    hook: HookName,
    /// The workload's port, as the table calls it
    #[arg(long, value_name = "PORT", required_if_eq_any = [("hook", "workload"), ("hook", "local")])]
    port: Option<Port>,
    /// The tag that the kernel knows beside each frame, of use at hook local
    #[arg(long, value_name = "TAG", default_value_t = 0)]
    mark: u16,
    #[command(flatten)]
    pub(super) output: Output,
}

/// The three hooks.
#[derive(Clone, Copy, ValueEnum)]
enum HookName {
    /// The ingress of an uplink: from other tunnel endpoints
    Fabric,
    /// The ingress of a workload's port: what it sends
    Workload,
    /// The egress of a workload's port: what reaches it
    Local,
}

#[derive(Serialize)]
struct Answer {
    kernel: bool,
    frames: Vec<FrameView>,
    differ: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FrameView {
    frame: usize,
    reference: &'static str,
    passes: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    agree: bool,
    source_tag: u16,
    destination_tag: u16,
    cut: bool,
    flow: String,
}

impl Judge {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let text = text_of(&self.table)?;
        let compiled = compile(&text)?;
        let court = Court::new(&compiled)?;
        let mut frames = Vec::new();
        for captured in Reader::new(self.open()?)? {
            frames.push(self.frame(frames.len() + 1, &captured?, &court)?);
        }
        let differ = frames.iter().filter(|frame| !frame.agree).count();
        let answer = Answer { kernel: court.trial.is_some(), frames, differ };
        if self.output.format == Format::Text {
            answer.write(out)?;
        } else {
            words::data(out, self.output.format, &answer)?;
        }
        Ok(if differ == 0 { Ended::Done } else { Ended::Found })
    }

    fn open(&self) -> Result<Box<dyn Read>, Unreadable> {
        if self.file.as_os_str() == "-" {
            return Ok(Box::new(io::stdin()));
        }
        let file = File::open(&self.file);
        let file = file.map_err(|source| Unreadable { path: self.file.clone(), source })?;
        Ok(Box::new(BufReader::new(file)))
    }

    fn frame(
        &self,
        frame: usize,
        captured: &Captured,
        court: &Court<'_>,
    ) -> Result<FrameView, Fault> {
        let arrival = Arrival {
            hook: self.hook.into(),
            interface: self.port.map_or(0, interface),
            mark: self.mark,
            vlan_beside: false,
            frame: &captured.bytes,
        };
        let ours = wire::judge(Some(court.tables), &arrival);
        let theirs = court.trial.as_ref().map(|trial| trial.judge(&arrival)).transpose()?;
        Ok(FrameView {
            frame,
            reference: ours.reason.as_str(),
            passes: ours.reason.passes(),
            kernel: theirs.map(said),
            agree: theirs.is_none_or(|theirs| agree(ours, theirs)),
            source_tag: ours.source,
            destination_tag: ours.destination,
            cut: (captured.bytes.len() as u64) < u64::from(captured.len),
            flow: wire::flow(self.hook.into(), &captured.bytes).to_string(),
        })
    }
}

/// The reference and, if it may be asked, the kernel.
struct Court<'a> {
    tables: Tables<'a>,
    trial: Option<TrialFilter>,
}

impl<'a> Court<'a> {
    fn new(compiled: &'a Compiled) -> Result<Self, Stop> {
        let size = (compiled.bytes.len() as u32).next_power_of_two().max(1 << 20);
        let trial = match TrialFilter::new(Path::new("/sys/fs/bpf"), size) {
            Ok(mut trial) => {
                trial.put_bytes(&compiled.bytes)?;
                Some(trial)
            }
            Err(Fault::Privilege { .. }) => None,
            Err(Fault::File { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {
                None
            }
            Err(fault) => return Err(fault.into()),
        };
        Ok(Self { tables: Tables::new(&compiled.bytes), trial })
    }
}

/// The table, with a number for each port: there are no interfaces here.
fn compile(text: &str) -> Result<Compiled, Stop> {
    let interfaces = |port: &Port| Some(interface(*port));
    filter::compile(text, Generation(1), &interfaces, None, &Limits::default())
        .map_err(|refusal| put_stop(PutError::Refused(refusal)))
}

/// Every port has a number of its own, from 1 on.
fn interface(port: Port) -> u32 {
    match port {
        Port::Swp(n) => 1 + u32::from(n),
        Port::Rep(n) => 0x1_0001 + u32::from(n),
        Port::Nic(n) => 0x2_0001 + u32::from(n),
        Port::Ethernet(n) => 0x3_0001 + u32::from(n),
    }
}

/// The kernel also limits rates, and does not run on frames that no link could carry.
fn agree(ours: Verdict, theirs: TrialVerdict) -> bool {
    match theirs {
        TrialVerdict::Verdict(theirs) if theirs.reason == Reason::Rate => ours.reason.passes(),
        TrialVerdict::Verdict(theirs) => ours == theirs,
        TrialVerdict::TwoVoices(_) => false,
        TrialVerdict::Nothing => true,
    }
}

fn said(said: TrialVerdict) -> String {
    match said {
        TrialVerdict::Verdict(verdict) => {
            format!("{} {} > {}", verdict.reason, verdict.source, verdict.destination)
        }
        TrialVerdict::TwoVoices(code) => format!("two voices ({code})"),
        TrialVerdict::Nothing => "not asked".into(),
    }
}

impl From<HookName> for Hook {
    fn from(name: HookName) -> Self {
        match name {
            HookName::Fabric => Self::Fabric,
            HookName::Workload => Self::Workload,
            HookName::Local => Self::Local,
        }
    }
}

impl Answer {
    fn write(&self, out: &mut dyn Write) -> Result<(), Stop> {
        for frame in &self.frames {
            frame.write(out)?;
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        self.frames.iter().for_each(|frame| *counts.entry(frame.reference).or_default() += 1);
        let counts: Vec<String> =
            counts.iter().map(|(reason, count)| format!("{} {reason}", grouped(*count))).collect();
        let frames = plural(self.frames.len(), "frame");
        let counts = counts.join(", ");
        match (self.kernel, self.differ) {
            (false, _) => writeln!(
                out,
                "{NOTE}Judged by the reference only{NOTE:#}: {frames}: {counts}. Asking the kernel \
                 needs root.",
            )?,
            (true, 0) => {
                writeln!(out, "{GOOD}Reference and kernel agree{GOOD:#}: {frames}: {counts}.")?;
            }
            (true, differ) => {
                let differ = grouped(differ);
                writeln!(out, "{BAD}They differ{BAD:#} in {differ} of {frames}: {counts}.")?;
            }
        }
        Ok(())
    }
}

impl FrameView {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let style = if self.passes { GOOD } else { BAD };
        let Self { frame, reference, source_tag, destination_tag, flow, .. } = self;
        write!(
            out,
            "{frame:>5}  {style}{reference:12}{style:#} {source_tag:>5} > {destination_tag:<5}  \
             {flow}"
        )?;
        if self.cut {
            write!(out, "  {DIM}(cut by the capture){DIM:#}")?;
        }
        if let Some(kernel) = self.kernel.as_ref().filter(|_| !self.agree) {
            write!(out, "  {BAD}kernel: {kernel}{BAD:#}")?;
        }
        writeln!(out)
    }
}
