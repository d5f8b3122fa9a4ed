//! What the packet program does on a Linux tunnel endpoint.

use model::Service;

use crate::linux::{after, blocks};
use crate::machine::Machine;
use crate::policy::{Endpoint, Peers, Policy, Program, Rule};

/// Does what each line says; a line that lacks a word it needs does nothing.
pub(crate) fn load(text: &str, machine: &mut Machine) {
    let mut program = Program::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        take(&words, &mut program);
    }
    machine.policy = Policy::Program(program);
}

fn take(words: &[&str], program: &mut Program) -> Option<()> {
    match words {
        ["default", verdict] => {
            program.denies = *verdict == "drop";
            Some(())
        }
        ["space", space, rest @ ..] => add_space(space, rest, program),
        ["endpoint", space, address, rest @ ..] => endpoint(space, address, rest, program),
        ["peers", space, range, rest @ ..] => peers(space, range, rest, program),
        ["permit", rest @ ..] => permit(rest, program),
        _ => None,
    }
}

fn add_space(space: &str, words: &[&str], program: &mut Program) -> Option<()> {
    let vni = after(words, "vni")?.parse().ok()?;
    program.spaces.entry(vni).or_default().insert(space.into());
    Some(())
}

fn endpoint(space: &str, address: &str, words: &[&str], program: &mut Program) -> Option<()> {
    let endpoint = Endpoint {
        space: space.into(),
        address: address.parse().ok()?,
        mac: after(words, "mac")?.parse().ok()?,
        tag: after(words, "tag")?.parse().ok()?,
    };
    let port = after(words, "port")?.parse().ok()?;
    program.endpoints.entry(port).or_default().push(endpoint);
    Some(())
}

fn peers(space: &str, range: &str, words: &[&str], program: &mut Program) -> Option<()> {
    let tag = after(words, "tag")?.parse().ok()?;
    let known = program.peers.entry(space.into()).or_default();
    for (first, last, vtep) in blocks(range, words)? {
        known.push(Peers { first, last, vtep, tag });
    }
    Some(())
}

fn permit(words: &[&str], program: &mut Program) -> Option<()> {
    let &[space, client, provider, protocol, port] = words else {
        return None;
    };
    program.permits.push(Rule {
        place: space.into(),
        client: client.parse().ok()?,
        provider: provider.parse().ok()?,
        service: Service { protocol: protocol.parse().ok()?, port: port.parse().ok()? },
        answered: true,
        // The packet program knows packets and no connections.
        answers_open: true,
    });
    Some(())
}
