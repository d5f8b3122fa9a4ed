//! The table comes into force while other things are done.

use std::panic::resume_unwind;
use std::thread::{Scope, ScopedJoinHandle};

use filter::{Kernel, Limits};
use model::{Dialect, Port};
use observe::Found;

use crate::line::Line;
use crate::node::at;
use crate::{Admitted, NodeError};

/// A table on its way into force: the kernel waits until no packet is judged by the one before.
/// Meanwhile things are undone and made; nothing is joined before the end.
#[derive(Default)]
pub(crate) struct Putting<'scope>(Option<ScopedJoinHandle<'scope, Result<Kernel, NodeError>>>);

impl<'scope> Putting<'scope> {
    pub(crate) fn begin<'env>(
        scope: &'scope Scope<'scope, 'env>,
        put: impl FnOnce() -> Result<Kernel, NodeError> + Send + 'scope,
    ) -> Self {
        Self(Some(scope.spawn(put)))
    }

    /// Waits until it is in force.
    pub(crate) fn end(&mut self, kernel: &mut Option<Kernel>) -> Result<(), NodeError> {
        if let Some(thread) = self.0.take() {
            let put = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            *kernel = Some(put?);
        }
        Ok(())
    }
}

/// Puts the table in force, and gives the programs that have it now. A port is found wherever it
/// is.
pub(crate) fn put(mut kernel: Kernel, sent: &Admitted, found: &Found) -> Result<Kernel, NodeError> {
    let number = |port: &Port| found.interface(&port.to_string()).map(|(_, index)| index);
    let table = sent.text(Dialect::Table);
    let put = kernel.put(table, sent.generation(), &number, &Limits::default());
    put.map_err(at("put the table"))?;
    Ok(kernel)
}

/// The numbers by which the packet program knows the ports.
pub(crate) fn numbers(wanted: &[Line<'_>], found: &Found) -> Vec<Option<u32>> {
    let ports = wanted.iter().filter_map(|line| match *line {
        Line::Link { port, .. } => Some(port),
        _ => None,
    });
    ports.map(|port| found.interface(port).map(|(_, index)| index)).collect()
}
