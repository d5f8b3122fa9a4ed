//! Where answers go: the standard output, whose reader may go away before the end.
//!
//! What a command found does not depend on who reads it, so its exit code must not either: a
//! reader who is gone is passed over in silence, and the command goes on to its end. Only a
//! command that would go on for ever is told, and ends.

use std::io::{self, Write};

/// The standard output of a command.
pub(crate) struct Outlet<W> {
    to: W,
    is_endless: bool,
    is_gone: bool,
}

/// The answer could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the answer to the standard output")]
struct Unwritten(#[source] io::Error);

impl<W: Write> Outlet<W> {
    /// An endless command ends when nobody reads it any more; all others have their say.
    pub(crate) const fn new(to: W, is_endless: bool) -> Self {
        Self { to, is_endless, is_gone: false }
    }

    fn pass<T>(&mut self, done: io::Result<T>, unheard: T) -> io::Result<T> {
        match done {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_gone = true;
                if self.is_endless { Err(error) } else { Ok(unheard) }
            }
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                Err(io::Error::new(error.kind(), Unwritten(error)))
            }
            other => other,
        }
    }
}

impl<W: Write> Write for Outlet<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_gone && !self.is_endless {
            return Ok(bytes.len());
        }
        let done = self.to.write(bytes);
        self.pass(done, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_gone && !self.is_endless {
            return Ok(());
        }
        let done = self.to.flush();
        self.pass(done, ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader who goes away, or a disk that is full.
    struct Ends(io::ErrorKind);

    impl Write for Ends {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_reader_who_goes_away_is_told_to_endless_commands_alone() {
        let mut ending = Outlet::new(Ends(io::ErrorKind::BrokenPipe), false);
        assert!(ending.write_all(b"found").and_then(|()| ending.flush()).is_ok());
        let mut endless = Outlet::new(Ends(io::ErrorKind::BrokenPipe), true);
        let told = endless.write_all(b"found").map_err(|error| error.kind());
        assert_eq!(told, Err(io::ErrorKind::BrokenPipe));
    }

    #[test]
    fn a_full_disk_is_told_with_what_was_full() {
        let mut full = Outlet::new(Ends(io::ErrorKind::StorageFull), false);
        let told = full.flush().map_err(|error| error.to_string());
        assert_eq!(told, Err("cannot write the answer to the standard output".to_owned()));
    }
}
