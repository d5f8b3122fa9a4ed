//! What probes look like on the wire.

/// What every probe carries: a word of ours, the run, whether it asks or answers, its number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Token {
    pub(super) run: u32,
    pub(super) answers: bool,
    pub(super) probe: u32,
}

pub(super) const TOKEN_LEN: usize = 16;
const WORD: &[u8; 4] = b"bhpr";

/// An echo's head: type, code, checksum, identifier, sequence (RFC 792 and RFC 4443).
const ECHO_LEN: usize = 8;
const ECHO_REQUEST: [u8; 2] = [8, 128];
const ECHO_REPLY: [u8; 2] = [0, 129];

/// The base transport header, and the checksum at a packet's end.
const BTH_LEN: usize = 12;
const ICRC_LEN: usize = 4;
/// A reliable connection's only packet of a send.
const SEND_ONLY: u8 = 0x04;
const DEFAULT_PARTITION: [u8; 2] = [0xff, 0xff];

impl Token {
    pub(super) fn bytes(self) -> [u8; TOKEN_LEN] {
        let mut bytes = [0; TOKEN_LEN];
        bytes[..4].copy_from_slice(WORD);
        bytes[4..8].copy_from_slice(&self.run.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.probe.to_be_bytes());
        bytes[12] = u8::from(self.answers);
        bytes
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; TOKEN_LEN] = bytes.get(..TOKEN_LEN)?.try_into().ok()?;
        let number = |at: usize| {
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        bytes.starts_with(WORD).then(|| Self {
            run: number(4),
            probe: number(8),
            answers: bytes[12] == 1,
        })
    }

    pub(super) const fn answer(self) -> Self {
        Self { answers: true, ..self }
    }
}

/// An echo request with the token. IPv6 sums are the kernel's work.
pub(super) fn echo(is_v6: bool, token: Token) -> Vec<u8> {
    let mut message = vec![0; ECHO_LEN];
    message[0] = ECHO_REQUEST[usize::from(is_v6)];
    message.extend(token.bytes());
    let sum = if is_v6 { 0 } else { checksum(&message) };
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}

/// The token of an echo as a raw socket gives it: IPv4 comes with its header, IPv6 without.
/// The one that answers an echo is the kernel, with the request's own bytes.
pub(super) fn read_echo(is_v6: bool, packet: &[u8]) -> Option<Token> {
    let head = if is_v6 { 0 } else { usize::from(*packet.first()? & 0x0f) * 4 };
    let message = packet.get(head..)?;
    let token = Token::read(message.get(ECHO_LEN..)?)?;
    let kind = *message.first()?;
    if kind == ECHO_REQUEST[usize::from(is_v6)] {
        Some(token)
    } else if kind == ECHO_REPLY[usize::from(is_v6)] {
        Some(token.answer())
    } else {
        None
    }
}

/// The payload of a RoCEv2 packet: a base transport header, the token, room for the checksum.
pub(super) fn roce(token: Token) -> Vec<u8> {
    let [p0, p1] = DEFAULT_PARTITION;
    let [_, a, b, c] = token.probe.to_be_bytes();
    let mut packet = vec![SEND_ONLY, 0, p0, p1, 0, 0, 0, 1, 0, a, b, c];
    packet.extend(token.bytes());
    packet.extend([0; ICRC_LEN]);
    packet
}

/// The token of a RoCEv2 packet.
pub(super) fn read_roce(packet: &[u8]) -> Option<Token> {
    Token::read(packet.get(BTH_LEN..)?)
}

/// The internet checksum (RFC 1071) of an even number of bytes.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) as u16 + (folded >> 16) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Token = Token { run: 7, answers: false, probe: 70_000 };

    #[test]
    fn a_token_is_read_back_and_a_foreign_one_is_not() {
        assert_eq!(Token::read(&TOKEN.bytes()), Some(TOKEN));
        assert_eq!(Token::read(&TOKEN.answer().bytes()), Some(TOKEN.answer()));
        assert_eq!(Token::read(&TOKEN.bytes()[1..]), None);
        assert_eq!(Token::read(&[0; TOKEN_LEN]), None);
    }

    #[test]
    fn an_echo_asks_and_its_reply_answers() {
        let mut message = echo(true, TOKEN);
        assert_eq!(read_echo(true, &message), Some(TOKEN));
        message[0] = 129;
        assert_eq!(read_echo(true, &message), Some(TOKEN.answer()));
        message[0] = 1;
        assert_eq!(read_echo(true, &message), None);
    }

    #[test]
    fn an_echo_in_ipv4_stands_behind_its_header_and_sums_to_nothing() {
        let message = echo(false, TOKEN);
        assert_eq!(checksum(&message), 0);
        let packet = [&[0x45][..], &[0; 19], &message].concat();
        assert_eq!(read_echo(false, &packet), Some(TOKEN));
    }

    #[test]
    fn a_roce_packet_has_a_sound_transport_header() {
        let packet = roce(TOKEN);
        assert_eq!(read_roce(&packet), Some(TOKEN));
        assert_eq!(packet.len() % 4, 0);
        assert_eq!(packet[..4], [0x04, 0, 0xff, 0xff]);
    }
}
