//! `cargo xtask bench`: every promised number, measured here and now.

mod house;
mod place;

use std::process::ExitCode;

use bench::{Figure, Scale, Table, repeat};
use wire::Header;

const USAGE: &str = "\
usage: cargo xtask bench [--json] [--scale 1k|10k|100k] [word]

Measures every bench whose name contains the word, in every scale unless one is named.
";

/// A bench measures in worlds of these scales and adds its rows.
type Bench = fn(&[Scale], &mut Table);

const BENCHES: [(&str, Bench); 4] = [
    ("header", header),
    ("house", house::house),
    ("layers", house::layers),
    ("place", place::place),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(wish) = Wish::from_words(&words) else {
        eprint!("{USAGE}");
        return ExitCode::from(64);
    };
    let mut table = Table::default();
    for (name, bench) in BENCHES {
        if name.contains(&wish.word) {
            eprintln!("{name} ...");
            bench(&wish.scales, &mut table);
        }
    }
    if !wish.json {
        print!("{table}");
        return ExitCode::SUCCESS;
    }
    match table.json() {
        Ok(json) => {
            println!("{json}");
            ExitCode::SUCCESS
        }
        Err(cause) => {
            eprintln!("a figure is no number: {cause}");
            ExitCode::from(2)
        }
    }
}

/// What to measure, and how to say it.
struct Wish {
    json: bool,
    scales: Vec<Scale>,
    word: String,
}

impl Wish {
    fn from_words(words: &[String]) -> Option<Self> {
        let mut wish = Self { json: false, scales: Scale::ALL.to_vec(), word: String::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--json" => wish.json = true,
                "--scale" => wish.scales = vec![Scale::named(words.next()?)?],
                option if option.starts_with('-') => return None,
                word => wish.word = word.to_owned(),
            }
        }
        Some(wish)
    }
}

/// How long a tunnel header takes to read: the least that judging a packet can cost.
fn header(_: &[Scale], table: &mut Table) {
    const HEADERS: u32 = 100_000;
    let bytes = |low: u8| [0x88, 0, 3, 0xe9, 0, 0x27, low, 0];
    let times = repeat(0..=u8::MAX, |low| {
        for _ in 0..HEADERS {
            let header = Header::decode(std::hint::black_box(bytes(low)));
            std::hint::black_box(header).ok();
        }
    });
    let one = times.p50().as_secs_f64() / f64::from(HEADERS);
    table.add("header: read one", None, Figure::Seconds(one));
}
