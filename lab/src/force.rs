//! From documents to a plan in force: proved, written down, and only then sent.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use agent::{Address, Agents, Authority, Reached};
use apply::{OnDrift, Outcome};
use control::{Control, Hurry, Stopped, Who};
use model::Timestamp;

use crate::LabTrouble;
use crate::folder::Folder;
use crate::lab::{request, switches};

/// Makes the lab's authority, and gives every switch an identity of it.
pub(crate) fn enroll(folder: &Folder, fleet: &model::Fleet) -> Result<(), LabTrouble> {
    let authority = Authority::init(&folder.authority()).map_err(failed("the authority"))?;
    for (place, device) in switches(fleet) {
        let address = Address::Unix(folder.socket(device));
        let name = &fleet.switches[place].name;
        authority.enroll(name, &address).map_err(failed("the authority"))?;
    }
    Ok(())
}

/// Puts the documents in force: every agent holds its part, and all of them started it.
pub(crate) fn apply(folder: &Folder) -> Result<(), LabTrouble> {
    Folder::make(&folder.state())?;
    let who = Who { actor: "lab".into(), source: "bulkhead lab up".into(), request: None };
    let mut control = Control::open(store::Folder::open(folder.state())?, who)?;
    let request = request(folder)?;
    let committed = match control.take(&request, Hurry::default(), now()) {
        Ok(committed) => committed,
        Err(Stopped::NoDraft(none)) => return Err(none.into()),
        Err(Stopped::OnTrial(_)) => {
            return Err(LabTrouble::Refused("a plan is on trial: confirm it first".into()));
        }
        Err(Stopped::Unproved(_, unproved)) => {
            let count = unproved.findings.len();
            let said = format!("the proof has {count} findings; `bulkhead verify` tells them");
            return Err(LabTrouble::Refused(said));
        }
    };
    let runtime = tokio::runtime::Runtime::new().map_err(failed("the agents"))?;
    let agents = Agents::open(&folder.authority(), runtime.handle().clone());
    let agents = agents.map_err(failed("the agents"))?;
    let fleet = &committed.draft.intent.fleet;
    let mut devices = Reached { fleet, agents: &agents };
    let nobody = BTreeSet::new();
    let applied =
        control.send(&committed, &nobody, OnDrift::Repair, &nobody, &mut devices, now())?;
    for receipt in &applied.receipts {
        let said = match &receipt.outcome {
            Ok(Outcome::Held { .. } | Outcome::Unchanged) => continue,
            Ok(Outcome::Stale { generation, .. }) => format!("it holds generation {generation}"),
            Ok(Outcome::Refused { why }) => why.clone(),
            Err(error) => chain(error),
        };
        let device = fleet.device_name(receipt.device);
        let said = format!("{device} does not hold its part: {said}");
        return Err(LabTrouble::Failed { program: "apply".to_owned(), said });
    }
    Ok(())
}

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn failed<E: std::error::Error>(program: &'static str) -> impl FnOnce(E) -> LabTrouble {
    move |error| LabTrouble::Failed { program: program.to_owned(), said: chain(&error) }
}

/// Each error says only its own part, so the chain is a sentence.
fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", chain(cause)),
        None => error.to_string(),
    }
}
