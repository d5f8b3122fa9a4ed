//! A node made of memory, for rehearsals and benches.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use apply::{Admitted, Counted, ManagedNode, NodeError};
use model::{Dialect, Generation};

use crate::Changes;

/// A node that holds texts and nothing else: it stands for a device where a thousand agents are
/// rehearsed on one machine. Clones are the same node, so that a rehearsal can change behind the
/// agent's back what it holds.
#[derive(Clone, Default)]
pub struct MemoryDevice(Arc<(Mutex<Inside>, Condvar)>);

#[derive(Default)]
struct Inside {
    held: Vec<(Dialect, String)>,
    sent: Option<Admitted>,
    started: Option<Generation>,
    open_until: Option<Instant>,
    changes: u64,
    writes: u64,
    fault: Option<String>,
}

/// What tells that a node made of memory was changed.
pub struct MemoryChanges {
    node: MemoryDevice,
    seen: u64,
}

impl MemoryDevice {
    /// Changes what it holds, as somebody would behind the agent's back.
    pub fn edit(&self, dialect: Dialect, edit: impl FnOnce(&mut String)) {
        self.with(|inside| {
            if let Some((_, text)) = inside.held.iter_mut().find(|(known, _)| *known == dialect) {
                edit(text);
            }
            inside.changes += 1;
        });
    }

    /// From now on it cannot hold anything, and says this; none to be sound again.
    pub fn fail(&self, said: Option<&str>) {
        self.with(|inside| inside.fault = said.map(str::to_owned));
    }

    /// What it holds in this dialect.
    #[must_use]
    pub fn text(&self, dialect: Dialect) -> Option<String> {
        self.with(|inside| {
            let known = inside.held.iter().find(|(known, _)| *known == dialect);
            known.map(|(_, text)| text.clone())
        })
    }

    /// The plan whose ports were opened last.
    #[must_use]
    pub fn started(&self) -> Option<Generation> {
        self.with(|inside| inside.started)
    }

    /// Whether packets of tenants would pass now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.with(|inside| inside.open_until.is_some_and(|until| Instant::now() < until))
    }

    /// How often it was written to.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.with(|inside| inside.writes)
    }

    /// What tells that it was changed.
    #[must_use]
    pub fn changes(&self) -> MemoryChanges {
        MemoryChanges { node: self.clone(), seen: self.with(|inside| inside.changes) }
    }

    fn with<T>(&self, look: impl FnOnce(&mut Inside) -> T) -> T {
        let mut inside = self.lock();
        let answer = look(&mut inside);
        self.0.1.notify_all();
        answer
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The node as its agent has it: what it was sent is also kept here, to be lent.
pub struct MemoryNode {
    memory: MemoryDevice,
    sent: Option<Admitted>,
}

impl MemoryDevice {
    /// The node itself. One that takes the place of another finds what that one was sent.
    #[must_use]
    pub fn node(&self) -> MemoryNode {
        MemoryNode { memory: self.clone(), sent: self.with(|inside| inside.sent.clone()) }
    }
}

impl ManagedNode for MemoryNode {
    fn held(&mut self) -> Result<Vec<(Dialect, String)>, NodeError> {
        Ok(self.memory.with(|inside| inside.held.clone()))
    }

    fn sent(&self) -> Option<&Admitted> {
        self.sent.as_ref()
    }

    fn hold(
        &mut self,
        sent: &Admitted,
        step: &mut dyn FnMut(&str),
    ) -> Result<Vec<Dialect>, NodeError> {
        self.sent = Some(sent.clone());
        step("hold");
        self.memory.with(|inside| {
            inside.sent = Some(sent.clone());
            if let Some(said) = &inside.fault {
                return Err(NodeError { step: "hold".into(), said: said.clone() });
            }
            let before = std::mem::take(&mut inside.held);
            inside.held = sent.texts().map(|(dialect, text)| (dialect, text.into())).collect();
            let is_new = |held: &&(Dialect, String)| !before.contains(held);
            let changed: Vec<Dialect> =
                inside.held.iter().filter(is_new).map(|(dialect, _)| *dialect).collect();
            inside.writes += changed.len() as u64;
            inside.changes += 1;
            Ok(changed)
        })
    }

    fn start(&mut self, generation: Generation) -> Result<(), NodeError> {
        self.memory.with(|inside| inside.started = Some(generation));
        Ok(())
    }

    fn renew(&mut self, lease: Duration) -> Result<(), NodeError> {
        self.memory.with(|inside| inside.open_until = Some(Instant::now() + lease));
        Ok(())
    }

    fn close(&mut self) -> Result<(), NodeError> {
        self.memory.with(|inside| inside.open_until = None);
        Ok(())
    }

    fn counted(&mut self) -> Result<Counted, NodeError> {
        Ok(Counted::default())
    }
}

impl Changes for MemoryChanges {
    fn next(&mut self, at_most: Duration) -> Result<bool, NodeError> {
        let inside = self.node.lock();
        let is_old = |inside: &mut Inside| inside.changes == self.seen;
        let (inside, _) = self
            .node
            .0
            .1
            .wait_timeout_while(inside, at_most, is_old)
            .unwrap_or_else(PoisonError::into_inner);
        let seen = std::mem::replace(&mut self.seen, inside.changes);
        Ok(seen != self.seen)
    }
}
