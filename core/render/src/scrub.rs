//! Dialect `scrub`: what others left where a job is, and the evidence that it is gone.

use model::{Evidence, JobName, Memory, NodeId, Past, Share};
use plan::Plan;

use crate::node::bits;
use crate::say::{Say, say, say_hex};

/// What was left where a job is on a node, and how anybody knows that it is gone.
pub(crate) fn job(plan: &Plan, node: NodeId, name: &JobName, share: Share, out: &mut String) {
    let pasts = plan.pasts.get(name).into_iter().flatten().filter(|past| past.node == node);
    let left = pasts.clone().fold(0, |all, past| all | past.nics);
    if share.nics & !left != 0 {
        say!(out, "clean ", name, " nics ", Nics(share.nics & !left), "\n");
    }
    for past in pasts {
        say!(out, "after ", name, " nics ", Nics(past.nics), " ", past.left_by, " owing ");
        for (place, memory) in past.owing.iter().enumerate() {
            say!(out, if place > 0 { "," } else { "" }, memory.as_str());
        }
        say!(out, "\n");
        past.evidence.iter().for_each(|evidence| scrubbed(name, past, evidence, out));
    }
}

fn scrubbed(name: &JobName, past: &Past, evidence: &Evidence, out: &mut String) {
    let Evidence { memory, method, read_back, by, at } = evidence;
    say!(out, "scrubbed ", name, " nics ", Nics(past.nics), " ", past.left_by, " ");
    say!(out, Memory::as_str(*memory), " by ", by, " at ", Word(at), " method ", Word(method));
    say!(out, " read-back ", Word(read_back), "\n");
}

/// Interfaces with commas between them.
struct Nics(u64);

impl Say for Nics {
    fn say(&self, out: &mut String) {
        for (place, nic) in bits(self.0).enumerate() {
            say!(out, if place > 0 { "," } else { "" }, nic);
        }
    }
}

/// What somebody wrote, as one word: what is no plain letter is said as a percent sign and two
/// digits for each byte (RFC 3986, section 2.1).
struct Word<'a>(&'a str);

impl Say for Word<'_> {
    fn say(&self, out: &mut String) {
        for byte in self.0.bytes() {
            if byte.is_ascii_graphic() && byte != b'%' {
                out.push(char::from(byte));
            } else {
                out.push('%');
                say_hex(byte, out);
            }
        }
    }
}
