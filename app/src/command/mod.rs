//! The subcommands, one for each room.

mod agent;
mod apply;
mod ca;
mod capacity;
mod completions;
mod defrag;
mod demo;
mod discover;
mod filter;
mod fleet;
mod get;
mod history;
mod lab;
mod log;
mod observing;
mod place;
mod plan;
mod read;
mod render;
mod schema;
mod scrub;
mod sending;
mod test;
mod verify;
mod watch;
mod why;

use std::io::Write;

pub(crate) use apply::kept_alone;
use clap::{Args, Subcommand};

use crate::ending::{Ended, Stop};
use crate::words::Format;

/// What to do.
#[derive(Subcommand)]
pub(crate) enum Command {
    #[command(subcommand)]
    Fleet(fleet::Fleet),
    Plan(plan::Plan),
    Place(place::Place),
    Capacity(capacity::Capacity),
    Defrag(defrag::Defrag),
    Discover(discover::Discover),
    Render(render::Render),
    Read(read::Read),
    Verify(verify::Verify),
    Apply(apply::Apply),
    Delete(apply::Delete),
    Get(get::Get),
    History(history::History),
    Rollback(history::Rollback),
    #[command(subcommand)]
    Log(log::Log),
    Scrub(scrub::Scrub),
    Watch(watch::Watch),
    Why(why::Why),
    #[command(subcommand)]
    Filter(filter::Filter),
    Agent(agent::Agent),
    #[command(subcommand)]
    Ca(ca::Ca),
    #[command(subcommand)]
    Lab(lab::Lab),
    #[command(subcommand)]
    Test(test::Test),
    Demo(demo::Demo),
    Completions(completions::Completions),
    Schema(schema::Schema),
}

/// How to answer.
#[derive(Args)]
pub(crate) struct Output {
    /// How to write the answer
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t)]
    format: Format,
}

impl Command {
    /// Does it.
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Ended, Stop> {
        match self {
            Self::Fleet(fleet) => fleet.run(out),
            Self::Plan(plan) => plan.run(out),
            Self::Place(place) => place.run(out),
            Self::Capacity(capacity) => capacity.run(out),
            Self::Defrag(defrag) => defrag.run(out),
            Self::Discover(discover) => discover.run(out),
            Self::Render(render) => render.run(out),
            Self::Read(read) => read.run(out),
            Self::Verify(verify) => verify.run(out),
            Self::Apply(apply) => apply.run(out),
            Self::Delete(delete) => delete.run(out),
            Self::Get(get) => get.run(out),
            Self::History(history) => history.run(out),
            Self::Rollback(rollback) => rollback.run(out),
            Self::Log(log) => log.run(out),
            Self::Scrub(scrub) => scrub.run(out),
            Self::Watch(watch) => watch.run(out),
            Self::Why(why) => why.run(out),
            Self::Filter(filter) => filter.run(out),
            Self::Agent(agent) => agent.run(out),
            Self::Ca(ca) => ca.run(out),
            Self::Lab(lab) => lab.run(out),
            Self::Test(test) => test.run(out),
            Self::Demo(demo) => demo.run(out),
            Self::Completions(completions) => completions.run(out),
            Self::Schema(schema) => schema.run(out),
        }
    }

    /// Whether it goes on until somebody ends it.
    pub(crate) fn is_endless(&self) -> bool {
        match self {
            Self::Watch(watch) => watch.is_endless(),
            Self::Filter(filter) => filter.is_endless(),
            _ => false,
        }
    }

    /// Whether it answers with one value after the other, as they come.
    pub(crate) fn is_stream(&self) -> bool {
        match self {
            Self::Watch(_) => true,
            Self::Filter(filter) => filter.is_stream(),
            _ => false,
        }
    }

    /// How a refusal is written, too.
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Fleet(fleet) => fleet.format(),
            Self::Plan(plan) => plan.output.format,
            Self::Place(place) => place.output.format,
            Self::Capacity(capacity) => capacity.output.format,
            Self::Defrag(defrag) => defrag.output.format,
            Self::Discover(discover) => discover.output.format,
            Self::Read(read) => read.output.format,
            Self::Verify(verify) => verify.output.format,
            Self::Apply(apply) => apply.sending.output.format,
            Self::Delete(delete) => delete.sending.output.format,
            Self::Get(get) => get.output.format,
            Self::History(history) => history.output.format,
            Self::Rollback(rollback) => rollback.sending.output.format,
            Self::Log(log) => log.format(),
            Self::Scrub(scrub) => scrub.output.format,
            Self::Watch(watch) => watch.output.format,
            Self::Why(why) => why.output.format,
            Self::Filter(filter) => filter.format(),
            Self::Agent(agent) => agent.format(),
            Self::Lab(lab) => lab.format(),
            Self::Test(test) => test.format(),
            Self::Ca(_)
            | Self::Render(_)
            | Self::Demo(_)
            | Self::Completions(_)
            | Self::Schema(_) => Format::Text,
        }
    }
}
