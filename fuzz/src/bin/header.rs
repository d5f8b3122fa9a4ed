//! Eight bytes are a header or a refusal, and a header is read back as it was written.
#![no_main]

use wire::Header;

libfuzzer_sys::fuzz_target!(|bytes: [u8; 8]| {
    if let Ok(header) = Header::decode(bytes) {
        assert_eq!(Header::decode(header.encode()), Ok(header));
    }
});
