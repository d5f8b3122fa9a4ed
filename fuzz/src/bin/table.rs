//! Whatever a device of dialect table may hold.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::read_whatever(model::Dialect::Table, bytes));
