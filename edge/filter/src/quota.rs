//! How many addresses one tenant may have, kept beside the filter: whoever puts the next policy in
//! force need not know.

use std::os::fd::AsFd as _;

use aya::maps::MapData;

use crate::kernel::{Kernel, block, map, map_call};
use crate::{Fault, sys};

const NAME: &str = "quota";

impl Kernel {
    /// How many addresses one tenant may have here; none if nobody said.
    pub fn quota(&self) -> Result<Option<u32>, Fault> {
        let path = self.place().join(NAME);
        if !path.exists() {
            return Ok(None);
        }
        let held = MapData::from_pin(path).map_err(map(NAME))?;
        sys::read_number(held.fd().as_fd()).map(Some).map_err(map_call(NAME))
    }

    /// Keeps it for the policies to come.
    pub fn keep_quota(&self, addresses: u32) -> Result<(), Fault> {
        let (path, bytes) = (self.place().join(NAME), addresses.to_ne_bytes());
        if path.exists() {
            let held = MapData::from_pin(path).map_err(map(NAME))?;
            return sys::write_block(held.fd().as_fd(), &bytes, 4).map_err(map_call(NAME));
        }
        let held = block(&bytes, 4)?;
        sys::pin(held.as_fd(), &path).map_err(map_call(NAME))
    }
}
