//! Nobody but the check of an offer makes what a node may hold.

use apply::Admitted;
use model::{Digest, Epoch, Generation};

fn main() {}

fn _admitted(epoch: Epoch, generation: Generation, digest: Digest) -> Admitted {
    Admitted { epoch, generation, digest, texts: Vec::new() }
}
