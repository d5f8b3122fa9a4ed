//! Waivers: lines of a device that somebody vouches for.

use std::collections::BTreeMap;

use model::{Day, Fleet, Name, Waiver};
use smol_str::SmolStr;

use crate::Problem;
use crate::document::{Document, Papers, refuse_duplicate};
use crate::form::{self, Form, Shape, shown};
use crate::refusal::Refusals;
use crate::tree::At;

const WAIVER: Shape =
    Shape { what: "a waiver", needs: &["device", "line", "reason", "by", "until"], may: &[] };

/// All waivers, in the order of their names.
pub(crate) fn read(papers: &Papers, fleet: Option<&Fleet>, out: &mut Refusals) -> Vec<Waiver> {
    let mut waivers: BTreeMap<Name, (At<()>, Waiver)> = BTreeMap::new();
    for document in &papers.waivers {
        let Some(waiver) = read_one(document, fleet, out) else { continue };
        let pos = document.name.pos;
        match waivers.get(&waiver.name) {
            Some((first, _)) => refuse_duplicate("waiver", &waiver.name, pos, first.pos, out),
            None => {
                waivers.insert(waiver.name.clone(), (At { value: (), pos }, waiver));
            }
        }
    }
    waivers.into_values().map(|(_, waiver)| waiver).collect()
}

fn read_one(document: &Document, fleet: Option<&Fleet>, out: &mut Refusals) -> Option<Waiver> {
    let name = form::name(&document.name, out);
    let form = Form::open(&document.spec, &WAIVER, out)?;
    let device = form.name::<Name>("device", out);
    if let (Some(device), Some(fleet)) = (&device, fleet) {
        check_device(device, fleet, out);
    }
    let line = sentence(&form, "line", out);
    if let Some(line) = line.as_ref().filter(|line| is_anything(&line.value)) {
        let expected = "a line whose first word is said, with `*` for single words".into();
        let found = shown(&line.value);
        out.refuse(line.pos, Problem::BadValue { key: "line", found, expected });
    }
    let (reason, by) = (sentence(&form, "reason", out), sentence(&form, "by", out));
    let until = form.parsed::<Day>("until", out);
    Some(Waiver {
        name: name?,
        device: device?.value,
        line: line?.value,
        reason: reason?.value,
        by: by?.value,
        until: until?.value,
    })
}

/// Whoever vouches for any line vouches for nothing.
fn is_anything(line: &str) -> bool {
    line.split(' ').find(|word| !word.is_empty()).is_none_or(|first| first.contains('*'))
}

/// One line of text that says something.
fn sentence(form: &Form<'_>, key: &'static str, out: &mut Refusals) -> Option<At<SmolStr>> {
    let found = form.text(key, out)?;
    let is_said = !found.value.trim().is_empty() && !found.value.contains(char::is_control);
    if !is_said {
        let expected = "one line of text".into();
        out.refuse(found.pos, Problem::BadValue { key, found: shown(&found.value), expected });
    }
    is_said.then_some(found)
}

fn check_device(device: &At<Name>, fleet: &Fleet, out: &mut Refusals) {
    let names = || fleet.devices().map(|device| fleet.device_name(device).as_str());
    if !names().any(|name| name == device.value.as_str()) {
        let near = out.near(device.value.as_str(), names());
        let problem = Problem::Dangling { kind: "device", name: device.value.to_string(), near };
        out.refuse(device.pos, problem);
    }
}
