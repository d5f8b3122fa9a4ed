//! Any frame gets a verdict from any policy.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::judge_whatever(bytes));
