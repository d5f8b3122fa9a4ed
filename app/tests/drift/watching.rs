//! A watch over the whole test, and everything it says, with when.

use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Instant;

use serde_json::Value;

use crate::standing::{PATIENCE, Standing};

pub(crate) struct Watching {
    process: Child,
    events: Receiver<(Instant, Value)>,
}

impl Watching {
    pub(crate) fn begin(lab: &Standing) -> Self {
        let (process, said) = lab.listen(&["watch"]);
        let (tell, events) = channel();
        thread::spawn(move || {
            for event in said {
                // The test is over.
                let _ = tell.send((Instant::now(), event));
            }
        });
        Self { process, events }
    }

    /// Waits for an event that this one knows; the others are kept in words, for the one who
    /// wonders why it did not come.
    pub(crate) fn until<T>(
        &self,
        what: &str,
        mut knows: impl FnMut(&Value) -> Option<T>,
    ) -> (Instant, T) {
        let end = Instant::now() + PATIENCE;
        let mut others = String::new();
        loop {
            match self.events.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok((at, event)) => match knows(&event) {
                    Some(known) => return (at, known),
                    None => others += &format!("{event}\n"),
                },
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("the watch does not say {what}; it said\n{others}");
                }
            }
        }
    }

    /// Forgets what was said so far.
    pub(crate) fn forget(&self) {
        while self.events.try_recv().is_ok() {}
    }

    /// Ends it at once, as a machine that fails does.
    pub(crate) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.kill();
    }
}
