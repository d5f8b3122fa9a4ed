//! A table on its way into the kernel.

use std::path::Path;
use std::str::FromStr;

use clap::Args;
use filter::{Compiled, Kernel, Limits, PutError, interface_index};
use model::{Generation, NotAPort, Port};
use serde::Serialize;
use wire::Tables;

use super::put_stop;
use crate::documents::text_of;
use crate::ending::Stop;

/// On which terms a table is put in force.
#[derive(Args)]
pub(super) struct Terms {
    /// The plan the table came from [default: the one in force + 1]
    #[arg(long, value_name = "NUMBER")]
    generation: Option<u64>,
    /// How many addresses one tenant may have in the table [default: what was said last]
    #[arg(long, value_name = "COUNT")]
    quota_endpoints: Option<u32>,
    #[command(flatten)]
    names: Names,
}

/// What ports are called here.
#[derive(Args)]
pub(super) struct Names {
    /// A port of the table is this interface here; otherwise it is the one of the same name
    #[arg(long, value_name = "PORT=INTERFACE")]
    map: Vec<Mapped>,
}

/// `swp5=veth3`.
#[derive(Clone)]
struct Mapped {
    port: Port,
    interface: String,
}

/// The text is no pair of names.
#[derive(Debug, thiserror::Error)]
enum NotMapped {
    #[error("write PORT=INTERFACE, as in swp5=veth3")]
    Pair,
    #[error(transparent)]
    Port(#[from] NotAPort),
}

impl FromStr for Mapped {
    type Err = NotMapped;

    fn from_str(text: &str) -> Result<Self, NotMapped> {
        let (port, interface) = text.split_once('=').ok_or(NotMapped::Pair)?;
        Ok(Self { port: port.parse()?, interface: interface.to_owned() })
    }
}

impl Names {
    /// The kernel's number of a port, if there is such an interface.
    pub(super) fn interface(&self, port: &Port) -> Option<u32> {
        let mapped = self.map.iter().find(|mapped| mapped.port == *port);
        let name = mapped.map_or_else(|| port.to_string(), |mapped| mapped.interface.clone());
        interface_index(&name).ok()
    }

    /// What the table calls an interface.
    pub(super) fn port(&self, index: u32) -> Option<String> {
        let name = filter::interface_name(index)?;
        let mapped = self.map.iter().find(|mapped| mapped.interface == name);
        Some(mapped.map_or(name, |mapped| mapped.port.to_string()))
    }
}

/// A table on its way, and the generation it gets.
pub(super) struct Policy<'a> {
    terms: &'a Terms,
    text: String,
    generation: Generation,
    limits: Limits,
}

/// How much a policy holds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Size {
    pub(super) generation: u64,
    pub(super) tenants: u32,
    pub(super) endpoints: u32,
    pub(super) peers: u32,
    pub(super) ports: u32,
    pub(super) permits: u32,
    pub(super) bytes: u32,
}

impl<'a> Policy<'a> {
    /// Reads a table that shall take the place of what this filter holds.
    pub(super) fn read(
        file: &Path,
        terms: &'a Terms,
        kernel: Option<&Kernel>,
    ) -> Result<Self, Stop> {
        let text = text_of(file)?;
        let held = kernel.map(Kernel::held).transpose()?.flatten();
        let theirs = held.as_deref().map(Tables::new).and_then(Tables::generation);
        let next = Generation(theirs.unwrap_or(0)).next();
        let generation = terms.generation.map_or(next, Generation);
        if let Some(theirs) = theirs.map(Generation).filter(|theirs| *theirs > generation) {
            return Err(put_stop(PutError::Stale { ours: generation, theirs }));
        }
        let kept = kernel.map(Kernel::quota).transpose()?.flatten();
        let usual = Limits::default();
        let quota = terms.quota_endpoints.or(kept).unwrap_or(usual.records_per_space);
        let limits = Limits { records_per_space: quota, ..usual };
        Ok(Self { terms, text, generation, limits })
    }

    /// What it becomes, before anything is touched.
    pub(super) fn compile(&self) -> Result<Compiled, Stop> {
        let interfaces = |port: &Port| self.terms.names.interface(port);
        filter::compile(&self.text, self.generation, &interfaces, None, &self.limits)
            .map_err(|refusal| put_stop(refusal.into()))
    }

    /// Puts it in force, and keeps the quota that was said for those after it.
    pub(super) fn put(&self, kernel: &mut Kernel) -> Result<Size, Stop> {
        let interfaces = |port: &Port| self.terms.names.interface(port);
        let put = kernel.put(&self.text, self.generation, &interfaces, &self.limits);
        let Compiled { bytes, endpoints, peers, spaces, ports, permits } =
            put.map_err(put_stop)?.compiled;
        if let Some(quota) = self.terms.quota_endpoints {
            kernel.keep_quota(quota)?;
        }
        Ok(Size {
            generation: self.generation.0,
            tenants: spaces,
            endpoints,
            peers,
            ports,
            permits,
            bytes: bytes.len() as u32,
        })
    }
}

impl Size {
    /// What the kernel holds; nothing if it is no policy or contradicts itself.
    pub(super) fn of(tables: Tables<'_>) -> Option<Self> {
        let (ports, tenants) = (tables.ports()?, tables.spaces()?);
        let mut endpoints = 0;
        for index in 0..tenants {
            endpoints += tables.records(tables.space(index).ok()?).count() as u32;
        }
        Some(Self {
            generation: tables.generation()?,
            tenants,
            endpoints,
            peers: endpoints.saturating_sub(ports),
            ports,
            permits: tables.all_permits().count() as u32,
            bytes: tables.used()?,
        })
    }

    /// Of how much memory each endpoint has its share.
    pub(super) fn bytes_per_endpoint(&self) -> f64 {
        f64::from(self.bytes) / f64::from(self.endpoints.max(1))
    }
}
