//! Whatever a device of dialect nxos may hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read_whatever(model::Dialect::Nxos, bytes));
