//! Whatever a device of any layer besides the network may hold; the first byte says which.
#![no_main]

use model::Dialect;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let layers: Vec<Dialect> =
        Dialect::ALL.into_iter().filter(|dialect| !dialect.is_network()).collect();
    if let [first, text @ ..] = bytes {
        fuzz::read_whatever(layers[usize::from(*first) % layers.len()], text);
    }
});
