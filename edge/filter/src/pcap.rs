//! Captured frames, in the classic format of libpcap.

use std::io::{self, Read, Write};

/// Bytes of the file's header and of a frame's header.
const FILE: usize = 24;
const FRAME: usize = 16;
/// More than any frame has; a length beyond it is a damaged file.
const MOST: u32 = 1 << 18;
const ETHERNET: u32 = 1;

/// One captured frame.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Captured {
    /// When, in nanoseconds since the clock's beginning.
    pub time_ns: u64,
    /// How long it was on the wire.
    pub len: u32,
    /// The bytes that were kept.
    pub bytes: Vec<u8>,
}

/// Why the frames cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum NotACapture {
    /// Another format.
    #[error("this is no pcap file (of the newer pcapng, `editcap -F pcap` makes one)")]
    Magic,
    /// Not Ethernet.
    #[error("frames of link type {0} are not Ethernet")]
    LinkType(u32),
    /// Damaged.
    #[error("frame {0} is longer than any frame")]
    Length(u64),
    /// It ends or cannot be read.
    #[error("the capture cannot be read")]
    Read(#[from] io::Error),
}

/// Frames, read one after the other.
pub struct Reader<R> {
    from: R,
    big_endian: bool,
    nanoseconds: bool,
    read: u64,
}

impl<R: Read> Reader<R> {
    /// Reads the file's header.
    pub fn new(mut from: R) -> Result<Self, NotACapture> {
        let mut header = [0_u8; FILE];
        from.read_exact(&mut header)?;
        let (big_endian, nanoseconds) = match header[..4] {
            [0xd4, 0xc3, 0xb2, 0xa1] => (false, false),
            [0x4d, 0x3c, 0xb2, 0xa1] => (false, true),
            [0xa1, 0xb2, 0xc3, 0xd4] => (true, false),
            [0xa1, 0xb2, 0x3c, 0x4d] => (true, true),
            _ => return Err(NotACapture::Magic),
        };
        let reader = Self { from, big_endian, nanoseconds, read: 0 };
        match reader.number(&header[20..24]) {
            ETHERNET => Ok(reader),
            other => Err(NotACapture::LinkType(other)),
        }
    }

    fn number(&self, bytes: &[u8]) -> u32 {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn frame(&mut self) -> Result<Option<Captured>, NotACapture> {
        let mut header = [0_u8; FRAME];
        match self.from.read(&mut header[..1])? {
            0 => return Ok(None),
            _ => self.from.read_exact(&mut header[1..])?,
        }
        self.read += 1;
        let [seconds, fraction, kept, len] = [0, 4, 8, 12].map(|at| self.number(&header[at..]));
        if kept > MOST {
            return Err(NotACapture::Length(self.read));
        }
        let mut bytes = vec![0; kept as usize];
        self.from.read_exact(&mut bytes)?;
        let fraction_ns = u64::from(fraction) * if self.nanoseconds { 1 } else { 1000 };
        Ok(Some(Captured { time_ns: u64::from(seconds) * 1_000_000_000 + fraction_ns, len, bytes }))
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Captured, NotACapture>;

    fn next(&mut self) -> Option<Self::Item> {
        self.frame().transpose()
    }
}

/// Writes the file's header.
pub fn begin(to: &mut dyn Write) -> io::Result<()> {
    let numbers: [u32; 6] = [0xa1b2_3c4d, 0x0004_0002, 0, 0, MOST, ETHERNET];
    numbers.iter().try_for_each(|number| to.write_all(&number.to_le_bytes()))
}

/// Writes one frame.
pub fn write(to: &mut dyn Write, frame: &Captured) -> io::Result<()> {
    let seconds = (frame.time_ns / 1_000_000_000) as u32;
    let fraction = (frame.time_ns % 1_000_000_000) as u32;
    for number in [seconds, fraction, frame.bytes.len() as u32, frame.len] {
        to.write_all(&number.to_le_bytes())?;
    }
    to.write_all(&frame.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let frames = [
            Captured { time_ns: 1_700_000_000_123_456_789, len: 1500, bytes: vec![7; 192] },
            Captured { time_ns: 0, len: 0, bytes: Vec::new() },
        ];
        let mut file = Vec::new();
        begin(&mut file).unwrap();
        frames.iter().for_each(|frame| write(&mut file, frame).unwrap());
        let read: Result<Vec<_>, _> = Reader::new(file.as_slice()).unwrap().collect();
        assert_eq!(read.unwrap(), frames);
    }

    #[test]
    fn both_byte_orders_and_microseconds_are_read() {
        let mut file = Vec::new();
        for number in [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65535, 1, 5, 6, 1, 60] {
            file.extend(number.to_be_bytes());
        }
        file.push(9);
        let read: Vec<_> = Reader::new(file.as_slice()).unwrap().map(Result::unwrap).collect();
        assert_eq!(read, [Captured { time_ns: 5_000_006_000, len: 60, bytes: vec![9] }]);
    }

    #[test]
    fn what_is_no_capture_is_refused_with_its_reason() {
        let refusal = |bytes: &[u8]| match Reader::new(bytes) {
            Err(refusal) => refusal.to_string(),
            Ok(mut reader) => reader.next().unwrap().unwrap_err().to_string(),
        };
        let mut file = Vec::new();
        begin(&mut file).unwrap();
        let mut wifi = file.clone();
        wifi[20] = 105;
        let mut long = file.clone();
        long.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0]);
        let mut torn = file.clone();
        torn.extend([0; 10]);
        assert_eq!(refusal(&[0x0a, 0x0d, 0x0d, 0x0a].repeat(6)), NotACapture::Magic.to_string());
        assert_eq!(refusal(&wifi), "frames of link type 105 are not Ethernet");
        assert_eq!(refusal(&long), "frame 1 is longer than any frame");
        assert_eq!(refusal(&torn), "the capture cannot be read");
    }
}
