//! Edits sound texts of one dialect at random and tells which edits are not found:
//! `cargo xtask mutants`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::{env, fs};

use cases::Chance;
use cases::mutant::{
    ApiServer, Consumer, Effect, Frr, Judged, Libvirt, OpenSm, Rules, Slurmctld, run, sound,
    without_programs,
};
use model::Dialect;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    match Asked::from_words(&words).and_then(|asked| mutate(&asked)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// What was asked for.
struct Asked {
    dialect: Dialect,
    count: usize,
    seed: u64,
    out: Option<String>,
}

impl Asked {
    fn from_words(words: &[String]) -> Result<Self, String> {
        let mut asked = Self { dialect: Dialect::Slurm, count: 1000, seed: 1, out: None };
        for pair in words.chunks(2) {
            let [option, value] = pair else { return Err(format!("{}: no value", pair[0])) };
            let number = || value.parse::<u64>().map_err(|_| format!("{option}: no number"));
            match option.as_str() {
                "--dialect" => asked.dialect = value.parse()?,
                "--count" => asked.count = number()? as usize,
                "--seed" => asked.seed = number()?,
                "--out" => asked.out = Some(value.clone()),
                _ => return Err(format!("{option}: nobody knows this option")),
            }
        }
        Ok(asked)
    }
}

/// Whether no edit that opens or cuts was proved.
fn mutate(asked: &Asked) -> Result<bool, String> {
    let world = sound(asked.dialect)?;
    let mut consumer: Box<dyn Consumer> = match asked.dialect {
        Dialect::Pkey => Box::new(OpenSm::default()),
        Dialect::Vm => Box::new(Libvirt::default()),
        Dialect::Frr => match Frr::new() {
            Some(daemons) => Box::new(daemons),
            None => Box::new(Rules(Dialect::Frr)),
        },
        Dialect::Slurm => match Slurmctld::new() {
            Some(controller) => Box::new(controller),
            None => Box::new(Rules(Dialect::Slurm)),
        },
        Dialect::Kubernetes => match ApiServer::start() {
            Ok(server) => Box::new(server),
            Err(why) => {
                println!("by written rules: {why}");
                Box::new(Rules(Dialect::Kubernetes))
            }
        },
        dialect => without_programs(&world, dialect),
    };
    let mut chance = Chance::new(asked.seed);
    let judged = run(&world, asked.dialect, consumer.as_mut(), &mut chance, asked.count);
    let rows: String = judged.iter().map(|judged| judged.row() + "\n").collect();
    if let Some(out) = &asked.out {
        let text = format!("{}\n{rows}", Judged::COLUMNS);
        fs::write(out, text).map_err(|cause| format!("{out}: {cause}"))?;
    }
    tell(&judged);
    Ok(!judged.iter().any(Judged::is_missed))
}

fn tell(judged: &[Judged]) {
    let mut counts: BTreeMap<(Effect, &str), usize> = BTreeMap::new();
    for one in judged {
        *counts.entry((one.classified.effect, one.classified.by)).or_default() += 1;
    }
    println!("{} mutants", judged.len());
    for ((effect, by), count) in counts {
        println!("  {count} {effect:?} by {by}");
    }
    let missed: Vec<&Judged> = judged.iter().filter(|one| one.is_missed()).collect();
    let unseen = judged.iter().filter(|one| one.is_noise() && one.is_unseen()).count();
    let noise: Vec<&Judged> =
        judged.iter().filter(|one| one.is_noise() && !one.is_unseen()).collect();
    println!("{unseen} are refused for characters that nobody sees, whatever they do");
    for (what, rows) in
        [("open or cut and are proved", missed), ("are harmless and not met with silence", noise)]
    {
        println!("{} {what}", rows.len());
        for row in rows.iter().take(40) {
            println!("  {}", row.row());
        }
    }
}
