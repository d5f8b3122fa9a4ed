//! What FRR's daemons hold, asked over their own sockets: no process is started for it.

use std::collections::{BTreeSet, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The daemons that no device of the fabric can do without: addresses and VRFs, then routes.
pub const DAEMONS: [&str; 2] = ["zebra", "bgpd"];

/// What stands between an answer's text and its status.
const END: [u8; 3] = [0; 3];

/// How long a daemon may take for one answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The running configuration of all daemons whose sockets stand in the folder, as one text of
/// dialect `frr`: zebra's, then bgpd's, then those of the daemons that nobody asked for but run.
///
/// What each of them says in the same words (names and versions) stands there once; what says
/// nothing (empty lines, empty comments, headings) not at all. Nothing else is hidden.
pub fn frr(folder: &Path) -> Result<String, VtyTrouble> {
    Asked::of(folder)?.heard()
}

/// All daemons, asked for their running configuration at once: each writes its answer while we do
/// something else.
#[derive(Debug)]
pub struct Asked(Vec<Vty>);

impl Asked {
    const QUESTION: &str = "show running-config";

    /// Asks the daemons whose sockets stand in the folder.
    pub fn of(folder: &Path) -> Result<Self, VtyTrouble> {
        Self::through(Vty::open_all(folder)?)
    }

    /// Asks in these conversations, after all that was sent in them.
    pub fn through(mut all: Vec<Vty>) -> Result<Self, VtyTrouble> {
        all.iter_mut().try_for_each(|vty| vty.send(Self::QUESTION))?;
        Ok(Self(all))
    }

    /// What they answered, as [`frr`] gives it, unless one refused what was sent before.
    pub fn heard(self) -> Result<String, VtyTrouble> {
        let mut text = String::new();
        let mut names = BTreeSet::new();
        for mut vty in self.0 {
            append(&vty.answer()?, &mut names, &mut text);
        }
        Ok(text)
    }
}

/// The VRFs whose namespaces or devices zebra knows, so that links may be put into them: those
/// that come into a namespace before zebra watches it are understood by half.
pub fn known_vrfs(folder: &Path) -> Result<BTreeSet<String>, VtyTrouble> {
    let said = Vty::open(folder, "zebra")?.say("show vrf")?;
    let active = said.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["vrf", name, "id", ..] => Some(String::from(*name)),
            _ => None,
        }
    });
    Ok(active.collect())
}

/// Whether zebra takes network namespaces for VRFs, and not devices.
pub fn is_on_namespaces(folder: &Path) -> Result<bool, VtyTrouble> {
    let said = Vty::open(folder, "zebra")?.say("show zebra")?;
    let line = said.lines().find(|line| line.trim_start().starts_with("VRF "));
    Ok(line.is_some_and(|line| line.contains("Namespaces")))
}

fn append(said: &str, names: &mut BTreeSet<String>, text: &mut String) {
    const SAID_BY_ALL: &[&str] = &["frr version ", "frr defaults ", "hostname "];
    const SAYS_NOTHING: &[&str] =
        &["", "!", "end", "Building configuration...", "Current configuration:"];
    for line in said.lines().map(str::trim_end) {
        if SAYS_NOTHING.contains(&line.trim_start()) {
            continue;
        }
        let is_name = SAID_BY_ALL.iter().any(|words| line.starts_with(words));
        if is_name && !names.insert(line.into()) {
            continue;
        }
        text.push_str(line);
        text.push('\n');
    }
}

/// A conversation with one daemon of FRR.
///
/// A command is sent with a zero byte at its end; the answer is text, three zero bytes and a
/// status. Closing the conversation gives up whatever it had locked.
#[derive(Debug)]
pub struct Vty {
    daemon: String,
    stream: UnixStream,
    /// Commands that were sent and whose answers nobody has read.
    unread: VecDeque<String>,
}

impl Vty {
    /// Begins a conversation in which everything may be asked. Nobody waits for the daemon to agree
    /// to that: it would not answer what follows either.
    pub fn open(folder: &Path, daemon: &str) -> Result<Self, VtyTrouble> {
        let socket = folder.join(format!("{daemon}.vty"));
        let stream = UnixStream::connect(&socket)
            .map_err(|source| VtyTrouble::at_the_door(daemon, socket, source))?;
        let mut vty = Self { daemon: daemon.into(), stream, unread: VecDeque::new() };
        vty.send("enable")?;
        Ok(vty)
    }

    /// A conversation with each daemon that runs. Those that must run come first; of the others, a
    /// socket that nobody listens on was left behind.
    pub fn open_all(folder: &Path) -> Result<Vec<Self>, VtyTrouble> {
        let mut all: Vec<Self> =
            DAEMONS.iter().map(|daemon| Self::open(folder, daemon)).collect::<Result<_, _>>()?;
        for daemon in others(folder)? {
            match Self::open(folder, &daemon) {
                Err(VtyTrouble::Absent { source, .. }) if left_behind(&source) => {}
                vty => all.push(vty?),
            }
        }
        Ok(all)
    }

    /// What the daemon is called.
    #[must_use]
    pub fn daemon(&self) -> &str {
        &self.daemon
    }

    /// Says a command, and gives the answer if the daemon did as told, with this and with all that
    /// was sent before.
    pub fn say(&mut self, command: &str) -> Result<String, VtyTrouble> {
        self.send(command)?;
        self.answer()
    }

    /// Sends a command and goes on: whether it was refused is known with the next answer that
    /// somebody waits for.
    pub fn send(&mut self, command: &str) -> Result<(), VtyTrouble> {
        let mut line = Vec::with_capacity(command.len() + 1);
        line.extend_from_slice(command.as_bytes());
        line.push(0);
        self.unread.push_back(command.into());
        let sent = self.stream.set_write_timeout(Some(PATIENCE));
        sent.and_then(|()| self.stream.write_all(&line)).map_err(|source| self.silent(source))
    }

    /// The answer to the command that was sent last, or the first refusal of any.
    fn answer(&mut self) -> Result<String, VtyTrouble> {
        let deadline = Instant::now() + PATIENCE;
        let mut bytes = Vec::new();
        let mut last = String::new();
        let mut refused = None;
        while let Some(command) = self.unread.pop_front() {
            let (said, status) =
                self.hear(&mut bytes, deadline).map_err(|source| self.silent(source))?;
            if status != 0 {
                let daemon = self.daemon.clone();
                let said = one_line(&said);
                refused.get_or_insert(VtyRefusal { daemon, command, said, status });
            }
            last = said;
        }
        refused.map_or(Ok(last), |refusal| Err(VtyTrouble::Refused(refusal)))
    }

    fn silent(&self, source: std::io::Error) -> VtyTrouble {
        VtyTrouble::Silent { daemon: self.daemon.clone(), source }
    }

    /// The next answer, and its status. What came of those after it stays with the bytes.
    fn hear(&mut self, bytes: &mut Vec<u8>, deadline: Instant) -> std::io::Result<(String, u8)> {
        let mut piece = [0; 16_384];
        loop {
            if let Some((said, status, length)) = first_answer(bytes) {
                bytes.drain(..length);
                return Ok((said, status));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => bytes.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The first whole answer of these bytes, its status, and how many bytes it is.
fn first_answer(bytes: &[u8]) -> Option<(String, u8, usize)> {
    let end = bytes.windows(END.len()).position(|window| window == END)?;
    let status = *bytes.get(end + END.len())?;
    Some((String::from_utf8_lossy(&bytes[..end]).into_owned(), status, end + END.len() + 1))
}

/// The daemons with a socket in the folder besides those that must run, by name.
fn others(folder: &Path) -> Result<BTreeSet<String>, VtyTrouble> {
    let unreadable = |source| VtyTrouble::Folder { folder: folder.into(), source };
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        if let Some(daemon) = name.to_str().and_then(|name| name.strip_suffix(".vty"))
            && !DAEMONS.contains(&daemon)
        {
            names.insert(daemon.into());
        }
    }
    Ok(names)
}

impl VtyTrouble {
    fn at_the_door(daemon: &str, socket: PathBuf, source: std::io::Error) -> Self {
        let daemon = daemon.into();
        match source.kind() {
            ErrorKind::PermissionDenied => Self::Closed { daemon, socket, source },
            _ => Self::Absent { daemon, socket, source },
        }
    }
}

fn left_behind(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound)
}

fn one_line(said: &str) -> String {
    let lines = said.lines().map(|line| line.trim().trim_start_matches("% "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Why FRR did not answer, or not as it should.
#[derive(Debug, thiserror::Error)]
pub enum VtyTrouble {
    /// Nobody listens.
    #[error("{daemon} of FRR does not run: nobody listens on {}; start FRR", socket.display())]
    Absent {
        /// Who should.
        daemon: String,
        /// Where.
        socket: PathBuf,
        /// What failed.
        source: std::io::Error,
    },
    /// Somebody listens, and we may not speak.
    #[error(
        "{daemon} of FRR may not be asked: {} is closed to this user; run as root or in its group, \
         which is most often frrvty",
        socket.display()
    )]
    Closed {
        /// Who should answer.
        daemon: String,
        /// Where.
        socket: PathBuf,
        /// What failed.
        source: std::io::Error,
    },
    /// The folder of the sockets cannot be listed.
    #[error("the folder of FRR's sockets, {}, cannot be read; is it FRR's --vty_socket?", folder.display())]
    Folder {
        /// Which.
        folder: PathBuf,
        /// What failed.
        source: std::io::Error,
    },
    /// The daemon listens and does not answer, or went away in the middle.
    #[error("{daemon} of FRR does not answer; restart it if it hangs")]
    Silent {
        /// Who.
        daemon: String,
        /// What failed.
        source: std::io::Error,
    },
    /// The daemon answered that it will not.
    #[error(transparent)]
    Refused(VtyRefusal),
}

/// A command that a daemon refused.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{daemon} of FRR refuses `{command}`: {said} (status {status})")]
pub struct VtyRefusal {
    /// Who.
    pub daemon: String,
    /// What it was told.
    pub command: String,
    /// Why, in its own words.
    pub said: String,
    /// FRR's number of the reason.
    pub status: u8,
}

impl VtyRefusal {
    /// Whether the daemon does not know such a command at all, or not with these words.
    #[must_use]
    pub fn is_unknown_command(&self) -> bool {
        const NO_MATCH: u8 = 2;
        const AMBIGUOUS: u8 = 3;
        const INCOMPLETE: u8 = 4;
        matches!(self.status, NO_MATCH | AMBIGUOUS | INCOMPLETE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_that_is_closed_to_us_is_not_called_absent() {
        let said = |kind: ErrorKind| {
            VtyTrouble::at_the_door("zebra", "/run/frr/zebra.vty".into(), kind.into()).to_string()
        };
        assert!(said(ErrorKind::PermissionDenied).contains("run as root or in its group"));
        assert!(said(ErrorKind::ConnectionRefused).contains("start FRR"));
        assert!(said(ErrorKind::NotFound).contains("start FRR"));
    }
}
