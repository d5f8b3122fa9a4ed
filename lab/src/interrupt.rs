//! An interrupt on the terminal, noticed between two steps.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Once begun, an interrupt does not end this process, but is remembered.
///
/// The signals are caught and not held back: programs that are started meanwhile would inherit
/// that, and could not be ended.
pub(crate) struct Interrupt {
    came: Arc<AtomicBool>,
}

impl Interrupt {
    pub(crate) fn begin() -> Self {
        let came = Arc::new(AtomicBool::new(false));
        let (tell, told) = mpsc::channel();
        let noted = Arc::clone(&came);
        thread::spawn(move || listen(&noted, &tell));
        // Where nothing can be caught, an interrupt ends the process, and `down` works after it.
        let _ = told.recv();
        Self { came }
    }

    pub(crate) fn came(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }
}

fn listen(came: &AtomicBool, ready: &mpsc::Sender<()>) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let mut signals = signals()?;
        // Nobody waits any more when this cannot be told.
        let _ = ready.send(());
        let [interrupt, end, hangup] = &mut signals;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = end.recv() => {}
            _ = hangup.recv() => {}
        }
        came.store(true, Ordering::Relaxed);
        Ok(())
    })
}

fn signals() -> io::Result<[Signal; 3]> {
    Ok([
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
    ])
}
