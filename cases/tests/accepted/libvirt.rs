use std::process::Command;

use model::Dialect;

use crate::artifacts;
use crate::room::{Room, ask};

/// Machines that keep the host out are not among them: libvirt's schema knows `sev-snp` from 10.5
/// on and `tdx` from 11.6 on, and Debian 12 has 9.0.
#[test]
fn every_machine_suits_the_schema() {
    let machines = machines();
    assert_eq!(machines.len(), 2);
    for machine in &machines {
        let (suits, said) = judged(machine);
        assert!(suits, "{said}\n{machine}");
    }
}

#[test]
fn an_address_that_can_not_be_is_found() {
    let machine = &machines()[0];
    let wrong = machine.replace("slot='0x00'", "slot='0x20'");
    assert_ne!(*machine, wrong);
    assert!(!judged(&wrong).0);
}

fn machines() -> Vec<String> {
    let parts = artifacts(Dialect::Vm).into_iter().flat_map(|artifact| artifact.parts);
    parts.map(|part| part.text).filter(|text| !text.is_empty()).collect()
}

fn judged(machine: &str) -> (bool, String) {
    let room = Room::new("machine");
    let file = room.write("machine.xml", machine);
    ask(Command::new("virt-xml-validate").arg(file).arg("domain"))
}
