//! A virtual machine, and a line to talk to it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use super::supplies::Supplies;
use crate::{Failure, shell};

/// What an answer may take on a busy machine, its start included: a whole lab is one. Every wish ends
/// earlier by itself, so that one that takes longer means that the machine is stuck.
const PATIENCE: Duration = Duration::from_secs(900);
/// An answer ends with a line of this and its code.
const END: &str = ":exit ";

/// One virtual machine.
pub(crate) struct Machine {
    name: &'static str,
    child: Child,
    wishes: ChildStdin,
    lines: Receiver<String>,
}

/// What a machine answered.
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) text: String,
}

impl Machine {
    /// Starts one with this hardware, in the emulator's words. `inside` are the words that put a
    /// command where the machine shall be.
    pub(crate) fn start(
        name: &'static str,
        supplies: &Supplies,
        inside: &[&str],
        hardware: &[String],
    ) -> Result<Self, Failure> {
        // It ends with this process, however that ends, and lets everybody else pass.
        let before = ["setpriv", "--pdeathsig", "KILL", "nice"];
        let before = before.iter().chain(inside).map(|word| (*word).to_owned());
        let mut words: Vec<String> = before.collect();
        words.extend(supplies.emulator());
        words.extend(common(name, supplies));
        words.extend_from_slice(hardware);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = shell::command(&words)?;
        Self::over(name, &mut command)
            .map_err(|cause| Failure::Broken(format!("cannot start the emulator: {cause}")))
    }

    fn over(name: &'static str, command: &mut Command) -> std::io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let none = || std::io::Error::other("no line to it");
        let wishes = child.stdin.take().ok_or_else(none)?;
        let answers = child.stdout.take().ok_or_else(none)?;
        let (hear, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(answers).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                if hear.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { name, child, wishes, lines })
    }

    /// What it is called.
    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// Waits until it takes wishes.
    pub(crate) fn wait(&mut self) -> Result<(), Failure> {
        self.answer().map(drop)
    }

    /// What it says to a wish.
    pub(crate) fn ask(&mut self, wish: &str) -> Result<Answer, Failure> {
        writeln!(self.wishes, "{wish}")
            .and_then(|()| self.wishes.flush())
            .map_err(|cause| self.lost(&format!("cannot be asked: {cause}")))?;
        self.answer()
    }

    /// What it says to a wish that it cannot refuse.
    pub(crate) fn tell(&mut self, wish: &str) -> Result<String, Failure> {
        let Answer { code, text } = self.ask(wish)?;
        match code {
            0 => Ok(text),
            _ => Err(self.lost(&format!("does not `{wish}`: {text}"))),
        }
    }

    fn answer(&mut self) -> Result<Answer, Failure> {
        let until = Instant::now() + PATIENCE;
        let mut text = Vec::new();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                return Err(self.lost("does not answer"));
            };
            match line.strip_prefix(END).and_then(|code| code.parse().ok()) {
                Some(code) => return Ok(Answer { code, text: text.join("\n").trim().to_owned() }),
                None => text.push(line),
            }
        }
    }

    fn lost(&self, how: &str) -> Failure {
        let name = self.name;
        Failure::Broken(format!("machine {name} {how}; its kernel's log is console-{name}.log"))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // There is nothing in it to lose, and it may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What every machine is made of, in the emulator's words.
fn common(name: &str, supplies: &Supplies) -> Vec<String> {
    let console = supplies.folder().join(format!("console-{name}.log"));
    let mut words: Vec<String> = ["-nodefaults", "-no-reboot", "-display", "none"]
        .into_iter()
        .chain(["-accel", "tcg", "-cpu", "max"])
        .map(str::to_owned)
        .collect();
    let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
    add("-kernel", supplies.kernel().display().to_string());
    add("-initrd", supplies.initramfs().display().to_string());
    let more = supplies.kernel_words();
    let kernel = "console=ttyS0 panic=-1 quiet mitigations=off tsc=reliable";
    add("-append", format!("{kernel} {more}").trim_end().to_owned());
    add("-serial", format!("file:{}", console.display()));
    add("-serial", "stdio".to_owned());
    words
}
