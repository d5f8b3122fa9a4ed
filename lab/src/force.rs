//! From documents to a plan in force: proved, written down, and only then sent.

use agent::{Address, Authority, Fleet, Wish};
use plan::{Ledger, Record};
use store::Log;

use crate::Trouble;
use crate::folder::Folder;
use crate::lab::{intended, refused, switches};

/// Makes the lab's authority, and gives every switch an identity of it.
pub(crate) fn enroll(folder: &Folder, fleet: &model::Fleet) -> Result<(), Trouble> {
    let authority = Authority::init(&folder.authority()).map_err(failed("the authority"))?;
    for (place, device) in switches(fleet) {
        let address = Address::Unix(folder.socket(device));
        let name = &fleet.switches[place].name;
        authority.enroll(name, &address).map_err(failed("the authority"))?;
    }
    Ok(())
}

/// Plans what the documents ask for, proves it, and has every agent hold it.
pub(crate) fn apply(folder: &Folder) -> Result<(), Trouble> {
    let intent = intended(folder)?;
    Folder::make(&folder.state())?;
    let mut log = Log::open(folder.state().join("log"))?;
    let ledger = Ledger::replay(log.records())?;
    let next = plan::next(&intent, &ledger).map_err(refused)?;
    let artifacts = render::all(&next.plan);
    let cleared = verify::clear(&intent.fleet, &next.plan.owners(), artifacts);
    let cleared = cleared.map_err(|unproved| {
        let count = unproved.findings.len();
        Trouble::Refused(format!("the proof has {count} findings; `bulkhead verify` tells them"))
    })?;
    log.append(&next.records).map_err(failed("the log"))?;
    let agents = Fleet::open(&folder.authority()).map_err(failed("the agents"))?;
    let pushed = agents.push(&intent.fleet, &cleared, &Wish::default());
    for receipt in &pushed.applied.receipts {
        if let Err(error) = &receipt.outcome {
            let device = intent.fleet.device_name(receipt.device);
            let said = format!("{device} does not hold {}: {}", receipt.dialect, chain(error));
            return Err(Trouble::Failed { program: "apply".to_owned(), said });
        }
    }
    let generation = next.plan.generation;
    let devices = intent.fleet.devices().map(|id| intent.fleet.device_name(id).clone());
    let seen: Vec<Record> = devices.map(|device| Record::Seen { device, generation }).collect();
    log.append(&seen).map_err(failed("the log"))
}

fn failed<E: std::error::Error>(program: &'static str) -> impl FnOnce(E) -> Trouble {
    move |error| Trouble::Failed { program: program.to_owned(), said: chain(&error) }
}

/// Each error says only its own part, so the chain is a sentence.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", chain(cause)),
        None => error.to_string(),
    }
}
