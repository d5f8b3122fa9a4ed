//! Dialect `scrub`: who had a job's interfaces before it, and by what evidence nothing is left.

use model::Evidence;
use smol_str::SmolStr;

use crate::dialect::Description;
use crate::hold::{Cleaned, PastOwner};
use crate::lines::Line;
use crate::statement;
use crate::values::{Why, job, memory, name, nics};
use crate::{Hold, Reading};

/// What is known of it.
pub(crate) const DESCRIPTION: Description =
    Description::of_statements("nobody: it is what the log says", read);

fn read(text: &str) -> Reading {
    statement::read(text, |line| hold(line).map(Some))
}

fn hold(line: &Line<'_>) -> Result<Hold, Why> {
    match line.words().as_slice() {
        ["clean", of, "nics", had] => Ok(Hold::Clean { job: job(of)?, nics: nics(had)? }),
        ["after", of, "nics", had, by, "owing", owing] => {
            let owing = owing.split(',').map(memory).collect::<Result<_, _>>()?;
            let left = Box::new(PastOwner { by: job(by)?, owing });
            Ok(Hold::After { job: job(of)?, nics: nics(had)?, left })
        }
        [
            "scrubbed",
            of,
            "nics",
            had,
            after,
            what,
            "by",
            by,
            "at",
            at,
            "method",
            method,
            "read-back",
            how,
        ] => {
            let evidence = Evidence {
                memory: memory(what)?,
                method: word(method)?,
                read_back: word(how)?,
                by: name(by)?,
                at: word(at)?,
            };
            let cleaned = Box::new(Cleaned { after: job(after)?, evidence });
            Ok(Hold::Scrubbed { job: job(of)?, nics: nics(had)?, cleaned })
        }
        ["scrubbed", ..] => {
            Err("evidence says who scrubbed which memory when, how, and how it was read back")
        }
        _ => Err("no line of this dialect is written so"),
    }
}

/// What somebody wrote, of which each byte that is no plain letter stands there as a percent sign
/// and two digits.
fn word(text: &str) -> Result<SmolStr, Why> {
    const WHY: Why = "after a percent sign stand the two digits of a byte";
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        if *first != b'%' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let (digits, after) = after.split_at_checked(2).ok_or(WHY)?;
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(WHY);
        bytes.push((digit(digits[0])? << 4 | digit(digits[1])?) as u8);
        rest = after;
    }
    let word = String::from_utf8(bytes).map_err(|_| "evidence is written in UTF-8")?;
    Ok(word.into())
}
