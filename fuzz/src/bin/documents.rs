//! Whatever people may write.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::load_whatever(bytes));
