//! `bulkhead apply` and `bulkhead delete`: documents in, and devices that hold the proved plan.

use std::io::Write;

use clap::Args;
use control::Request;
use intent::Key;

use super::sending::Sending;
use crate::asking::is_agreed;
use crate::documents::Documents;
use crate::ending::{Ended, Stop};
use crate::state::now;
use crate::words::{BAD, Format, NAME, aside, examples, plural};

/// Make it so: plan, render, prove, write down, and only then send
///
/// Documents merge with those of before by kind, tenant and name: what is not named stays, and
/// taking away is said, by `delete` or `--prune`. Nothing is sent that was not proved, and nothing
/// before it stands in the log. A device that holds something else than it should, for whatever
/// reason, is put right.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead apply cluster.yaml --to sim" => "let the simulated devices hold the plan",
    "bulkhead apply cluster.yaml --to sim --state /tmp/try" => "with a log of its own",
    "bulkhead apply --to sim" => "what was asked for before, to devices that do not hold it",
    "bulkhead apply docs/ --to sim --prune --yes" => "these documents and no others",
    "bulkhead plan cluster.yaml --out plan.json && bulkhead apply plan.json --to sim"
        => "exactly what was shown, or nothing if the log moved on meanwhile",
    "bulkhead verify --held && echo sound" => "look at them afterwards",
    "bulkhead apply cluster.yaml --to agents" => "let real devices hold it, through their agents",
    "bulkhead apply cluster.yaml --to agents --without leaf-3" => "though one of them is dead",
    "bulkhead apply cluster.yaml --to agents --confirm-within 5m"
        => "devices go back by themselves, unless this follows in time:",
    "bulkhead apply --to agents --confirm" => "stay with it",
))]
pub(crate) struct Apply {
    #[command(flatten)]
    documents: Documents,
    /// Take away every document that is not among these
    #[arg(long)]
    prune: bool,
    /// Take away without asking
    #[arg(long)]
    yes: bool,
    /// Plan and send nothing: stay with what was sent with `--confirm-within`
    #[arg(long, conflicts_with_all = ["confirm_within", "prune"])]
    confirm: bool,
    #[command(flatten)]
    pub(super) sending: Sending,
}

impl Apply {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let mut control = self.sending.state.control("apply")?;
        if self.confirm {
            return self.sending.confirm(&mut control, out);
        }
        if let Some(kept) = self.documents.kept()? {
            if self.prune {
                return Err(kept_alone());
            }
            return self.sending.run(&mut control, &kept, out);
        }
        let request = self.documents.request(self.prune)?;
        if self.prune {
            let draft = control.journal().draft(&request, now()).map_err(Stop::no_draft)?;
            may_take_away(draft.deleted(), self.yes, self.sending.output.format)?;
        }
        self.sending.run(&mut control, &request, out)
    }
}

/// A kept plan says all of what is to be done.
pub(crate) fn kept_alone() -> Stop {
    Stop::argument(
        "plan-not-alone",
        "a kept plan is applied as it is, or not at all".into(),
        "name the file alone, without other files and without `--prune`",
    )
}

/// Take documents away: their jobs end, and what they held is freed
///
/// Everything else stays. What a job held rests until every device was seen without it.
#[derive(Args)]
#[command(after_help = examples!(
    "bulkhead delete job red/train --to sim" => "end a job",
    "bulkhead delete tenant red permit red/store --to agents" => "several at once",
))]
pub(crate) struct Delete {
    /// A kind and a name, again and again: `job red/train`, `tenant red`, `permit red/store`
    #[arg(value_name = "KIND NAME", required = true, num_args = 2..)]
    words: Vec<String>,
    #[command(flatten)]
    pub(super) sending: Sending,
}

impl Delete {
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Ended, Stop> {
        let keys = self.words.chunks(2).map(key).collect::<Result<Vec<Key>, Stop>>()?;
        let mut control = self.sending.state.control("delete")?;
        self.sending.run(&mut control, &Request::delete(keys), out)
    }
}

fn key(words: &[String]) -> Result<Key, Stop> {
    let named = match words {
        [kind, name] => Key::from_words(kind, name),
        _ => None,
    };
    named.ok_or_else(|| {
        Stop::argument(
            "key-unknown",
            format!("`{}` names no document", words.join(" ")),
            "a document is a kind and a name: `job red/train`, `tenant red`, `guardrail NAME`, \
             `permit red/store`",
        )
    })
}

/// Whoever takes away says so: by `--yes`, or at the keyboard.
fn may_take_away(keys: &[Key], yes: bool, format: Format) -> Result<(), Stop> {
    const MOST: usize = 40;
    if keys.is_empty() || yes {
        return Ok(());
    }
    let count = plural(keys.len(), "document");
    if format == Format::Text {
        aside(format_args!("{BAD}To be taken away{BAD:#}: {count}"));
        for key in keys.iter().take(MOST) {
            aside(format_args!("  {NAME}{key}{NAME:#}"));
        }
        if let Some(more) = keys.len().checked_sub(MOST).filter(|&more| more > 0) {
            aside(format_args!("  and {more} more"));
        }
    }
    if is_agreed(format)? {
        return Ok(());
    }
    let names: Vec<String> = keys.iter().take(MOST).map(ToString::to_string).collect();
    Err(Stop::argument(
        "prune-needs-yes",
        format!("{count} would be taken away: {}", names.join(", ")),
        "`--yes` says that this is meant; without `--prune` what is not named stays",
    ))
}
