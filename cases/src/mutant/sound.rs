//! A sound world in which a dialect is written.

use std::path::Path;

use model::Dialect;

use crate::{World, from_documents};

/// Two leaves of Linux on which tenants have jobs that span both, permits and promises.
const NETWORK: &str = include_str!("worlds/network.yaml");

/// A sound world with an artifact of the dialect, or why there is none.
pub fn sound(dialect: Dialect) -> Result<World, String> {
    if matches!(dialect, Dialect::Frr | Dialect::Linux | Dialect::Table) {
        return from_documents(NETWORK);
    }
    let (folder, files): (&str, &[&str]) = match dialect {
        Dialect::Nxos => ("found-tampered-leaf-nxos", &["fleet.yaml", "tenants.yaml", "jobs.yaml"]),
        _ => ("accepted-all-layers-from-one-plan", &["fleet.yaml", "work.yaml"]),
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut documents = Vec::new();
    for file in files {
        let path = folder.join(file);
        let text = std::fs::read_to_string(&path);
        documents.push(text.map_err(|cause| format!("{}: {cause}", path.display()))?);
    }
    let mut world = from_documents(&documents.join("\n---\n"))?;
    super::vm::print(&mut world);
    if world.artifacts.iter().any(|artifact| artifact.dialect == dialect) {
        return Ok(world);
    }
    Err(format!("no sound world here is written in {dialect}"))
}
