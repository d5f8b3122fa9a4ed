//! A job's peers in few lines: addresses that follow one another, as one run.

use std::net::Ipv4Addr;

use plan::{Group, Plan, Seat};

/// Consecutive addresses in blocks of one size, each behind the tunnel endpoint after the one
/// before. Hosts that follow one another are one such run, so that a job's peers are a few lines
/// and not one for each host.
pub(crate) struct Run {
    first: u32,
    last: u32,
    vtep: u32,
    every: u32,
}

impl Run {
    /// Takes the next block in, if it goes on where this run ends.
    fn takes(&mut self, block: &Self) -> bool {
        let blocks = (self.last - self.first + 1) / self.every;
        let goes_on = Some(block.first) == self.last.checked_add(1)
            && Some(block.vtep) == self.vtep.checked_add(blocks)
            && block.every == self.every;
        if goes_on {
            self.last = block.last;
        }
        goes_on
    }

    /// The lowest address.
    pub(crate) fn first(&self) -> Ipv4Addr {
        self.first.into()
    }

    /// The highest address.
    pub(crate) fn last(&self) -> Ipv4Addr {
        self.last.into()
    }

    /// What the first block is behind.
    pub(crate) fn vtep(&self) -> Ipv4Addr {
        self.vtep.into()
    }

    /// How many addresses are behind each tunnel endpoint, if there are several of them.
    pub(crate) fn every(&self) -> Option<u32> {
        (self.last - self.first + 1 > self.every).then_some(self.every)
    }
}

/// Says the endpoints of these groups, run by run.
pub(crate) fn runs<'a>(
    plan: &Plan,
    groups: impl Iterator<Item = &'a Group>,
    mut say: impl FnMut(&Run),
) {
    let mut open: Option<Run> = None;
    for group in groups {
        let Some(vtep) = plan.fleet.vtep(group.device) else { continue };
        let mut rest = group.seats.as_slice();
        while let [first, ..] = rest {
            let (seats, after) = rest.split_at(run_length(rest));
            let (first, every) = (u32::from(first.address), seats.len() as u32);
            let vtep = u32::from(vtep.address);
            let block = Run { first, last: first + (every - 1), vtep, every };
            if !open.as_mut().is_some_and(|run| run.takes(&block)) {
                open.replace(block).iter().for_each(&mut say);
            }
            rest = after;
        }
    }
    open.iter().for_each(say);
}

/// How many seats from the first on have consecutive addresses. Seats are in the order of their
/// addresses, so a distance equal to the number of steps has no gap inside, and the end of a run
/// is found by halving instead of walking: a job part costs what it says, not what it stands for.
fn run_length(seats: &[Seat]) -> usize {
    let address = |at: usize| u32::from(seats[at].address);
    let (mut inside, mut outside) = (0, seats.len());
    while outside - inside > 1 {
        let middle = inside + (outside - inside) / 2;
        if address(middle).wrapping_sub(address(0)) as usize == middle {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    outside
}
