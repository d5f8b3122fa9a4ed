//! Dialect `table`: the packet program's policy, one statement a line.

use model::VrfName;

use crate::dialect::Description;
use crate::lines::{Line, lines};
use crate::run::Run;
use crate::values::{Why, address, bps, ceiling, class, mac, port, service, tag, vni, vrf};
use crate::{Claim, Fact, Reading, Unknown};

/// What is known of it.
pub(crate) const DESCRIPTION: Description =
    Description::of_statements("the loader of the packet program", read);

fn read(text: &str) -> Reading {
    let mut reading = Reading::with_room_for(text);
    for line in lines(text).filter(|line| !line.text.is_empty()) {
        if line.text.starts_with('#') {
            reading.ignored.push(line.number);
            continue;
        }
        match fact(&line) {
            Ok(fact) => reading.claims.push(Claim { line: line.number, fact }),
            Err(why) => {
                reading.unknown.push(Unknown { line: line.number, text: line.text.into(), why })
            }
        }
    }
    reading
}

/// What one line says. Most frequent lines first: a table is mostly peers.
fn fact(line: &Line<'_>) -> Result<Fact, Why> {
    Ok(match line.words().as_slice() {
        ["peers", space, run, "vtep", vtep, "tag", group] => peers(space, run, vtep, None, group)?,
        ["peers", space, run, "vtep", vtep, "every", block, "tag", group] => {
            peers(space, run, vtep, Some(block), group)?
        }
        ["endpoint", space, at, "mac", ethernet, "port", on, "tag", group] => Fact::TableEndpoint {
            space: vrf(space),
            address: address(at)?,
            mac: mac(ethernet)?,
            port: port(on)?,
            tag: tag(group)?,
        },
        ["permit", space, client, provider, protocol, number] => Fact::TablePermit {
            space: vrf(space),
            client: tag(client)?,
            provider: tag(provider)?,
            service: service(protocol, number)?,
        },
        ["space", space, "vni", number] => {
            Fact::TableSpace { space: vrf(space), vni: vni(number)? }
        }
        ["job", space, group, "class", treated] => job(space, group, treated, None)?,
        ["job", space, group, "class", treated, "ceiling", most] => {
            job(space, group, treated, Some(most))?
        }
        ["rate", space, "guarantee", least, "ceiling", most] => {
            rate(vrf(space), Some(bps(least)?), Some(ceiling(most)?))
        }
        ["rate", space, "guarantee", least] => rate(vrf(space), Some(bps(least)?), None),
        ["rate", space, "ceiling", most] => rate(vrf(space), None, Some(ceiling(most)?)),
        ["vtep", at] => Fact::Vtep(address(at)?),
        ["default", "drop"] => Fact::TableDeniesByDefault,
        ["default", "pass"] => Fact::TablePassesByDefault,
        ["default", ..] => return Err("the default is drop or pass"),
        _ => return Err("no line of a table is written so"),
    })
}

fn peers(
    space: &str,
    run: &str,
    vtep: &str,
    every: Option<&str>,
    group: &str,
) -> Result<Fact, Why> {
    let Run { first, last, vtep, every } = Run::read(run, vtep, every)?;
    Ok(Fact::TablePeers { space: vrf(space), first, last, vtep, every, tag: tag(group)? })
}

fn job(space: &str, group: &str, treated: &str, most: Option<&str>) -> Result<Fact, Why> {
    Ok(Fact::TableJob {
        space: vrf(space),
        tag: tag(group)?,
        class: class(treated)?,
        ceiling_bps: most.map(ceiling).transpose()?,
    })
}

fn rate(space: VrfName, guarantee_bps: Option<u64>, ceiling_bps: Option<u64>) -> Fact {
    Fact::TableRate { space, guarantee_bps, ceiling_bps }
}
