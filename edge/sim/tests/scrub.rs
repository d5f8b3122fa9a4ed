//! What a job left is gone when there is evidence, and there is no evidence when it is not.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its names has failed")]

use apply::{Left, NodeMemories, scrub};
use model::{Memory, Name, NodeId, Share};
use proptest::prelude::*;
use sim::Memories;

const NODE: NodeId = NodeId(3);
const CANARY: &[u8] = b"the weights of red";

fn by() -> Name {
    "n4".parse().unwrap()
}

fn memory() -> impl Strategy<Value = Memory> {
    proptest::sample::select(Memory::ALL.to_vec())
}

proptest! {
    #[test]
    fn evidence_means_that_no_canary_is_left(
        gpus in 1_u64..256,
        nics in 1_u64..256,
        memories in proptest::collection::btree_set(memory(), 1..5),
        lies: bool,
    ) {
        let share = Share { gpus, nics };
        let mut nodes = Memories::default();
        for &memory in Memory::ALL {
            nodes.leave(NODE, share, memory, CANARY);
        }
        if lies {
            nodes.lie(NODE);
        }
        let memories: Vec<Memory> = memories.into_iter().collect();
        let scrubbed = scrub(&mut nodes, NODE, share, &memories, &by(), "now");
        for &memory in Memory::ALL {
            let shown = nodes.shows(NODE, share, memory, CANARY);
            let proved = scrubbed.evidence.iter().any(|one| one.memory == memory);
            prop_assert_eq!(proved, memories.contains(&memory) && !lies);
            prop_assert_eq!(shown, !proved);
        }
    }

    #[test]
    fn a_neighbour_on_the_same_node_keeps_its_memory(mine in 1_u64..256, memory in memory()) {
        let theirs = Share { gpus: 0xff & !mine, nics: 0xff & !mine };
        let mine = Share { gpus: mine, nics: mine };
        let mut nodes = Memories::default();
        nodes.leave(NODE, theirs, memory, CANARY);
        scrub(&mut nodes, NODE, mine, &[memory], &by(), "now");
        prop_assert_eq!(nodes.shows(NODE, theirs, memory, CANARY), theirs.gpus != 0);
    }
}

#[test]
fn a_scrub_that_lies_is_caught_by_reading() {
    let share = Share { gpus: 0b11, nics: 0b1 };
    let mut nodes = Memories::default();
    nodes.leave(NODE, share, Memory::Hbm, CANARY);
    nodes.lie(NODE);
    let scrubbed = scrub(&mut nodes, NODE, share, &[Memory::Hbm], &by(), "now");
    assert_eq!(scrubbed.evidence, []);
    let (_, left) = &scrubbed.left[0];
    assert_eq!(left.to_string(), "It was said to be overwritten, and 8192 bytes of it were not.");
}

#[test]
fn a_node_that_cannot_says_so_and_gives_no_evidence() {
    let share = Share { gpus: 1, nics: 1 };
    let mut broken = Memories::default();
    broken.break_down(NODE);
    let scrubbed = scrub(&mut broken, NODE, share, Memory::ALL, &by(), "now");
    assert_eq!((scrubbed.evidence.len(), scrubbed.left.len()), (0, Memory::ALL.len()));

    let scrubbed = scrub(&mut NodeMemories, NODE, share, Memory::ALL, &by(), "now");
    assert_eq!((scrubbed.evidence.len(), scrubbed.left.len()), (0, Memory::ALL.len()));
    assert!(scrubbed.left.iter().all(|(_, left)| matches!(left, Left::Cannot(_))));
}
