//! What becomes of one frame: it arrives, or somebody counted it and says why.

use std::time::Duration;

use filter::Kernel;

use crate::lab::until;
use crate::mark;
use crate::socket::Socket;

/// Sends a frame with a mark and tells whether it arrives, or who counted it and why.
pub(crate) fn told(
    kernels: &[&Kernel],
    from: &Socket,
    to: &Socket,
    frame: impl AsRef<[u8]>,
) -> String {
    let before = drops(kernels);
    let mut frame = frame.as_ref().to_vec();
    let mut said = String::new();
    mark::send(from, &mut frame, 0);
    until("a frame neither arrives nor is counted", || {
        if mark::next(to, Duration::from_millis(2)).is_some() {
            said = "passes".into();
        } else if let Some(drop) = drops(kernels).into_iter().find(|drop| !before.contains(drop)) {
            said = drop.0;
        }
        !said.is_empty()
    });
    let second = mark::next(to, Duration::from_millis(10));
    assert!(second.is_none(), "{said}, but a frame arrived");
    said
}

/// Every cause of a drop with how often it was met.
pub(crate) fn drops(kernels: &[&Kernel]) -> Vec<(String, u64)> {
    let all = kernels.iter().flat_map(|kernel| kernel.drops().unwrap());
    let said = |cause: filter::Cause| {
        format!("{} {} {}", cause.hook.as_str(), cause.reason.as_str(), cause.tag)
    };
    all.map(|(cause, tally)| (said(cause), tally.packets)).collect()
}
