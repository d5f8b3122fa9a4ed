//! Makes the node at a root have the drivers that a text says: `bind ROOT FILE`. The virtual
//! machine of the hardware test runs it.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use apply::hardware::{Sysfs, hold};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let cause = error.source().map(|cause| format!(": {cause}"));
            println!("{error}{}", cause.unwrap_or_default());
            ExitCode::from(2)
        }
    }
}

fn run(words: &[String]) -> Result<(), Box<dyn Error>> {
    let [root, file] = words else {
        return Err("usage: bind ROOT FILE".into());
    };
    let changes = hold(Path::new(root), &std::fs::read_to_string(file)?, &mut Sysfs)?;
    for change in &changes {
        let word = |driver: &Option<String>| driver.clone().unwrap_or("nothing".to_owned());
        println!("{} from {} to {}", change.address, word(&change.from), word(&change.to));
    }
    println!("{} changed", changes.len());
    Ok(())
}
