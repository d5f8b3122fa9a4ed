//! Chance with a seed, and what it does to frames.

use crate::world;

pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        (self.next() >> 32) as u32 % limit
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.next() as u8
    }

    pub(crate) fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u32) as usize]
    }

    /// Nearly always an interface of the world.
    pub(crate) fn interface(&mut self) -> u32 {
        if self.below(30) == 0 { self.below(20) } else { 2 + self.below(world::PORTS) }
    }

    /// Nearly always a tag of the world.
    pub(crate) fn tag(&mut self) -> u16 {
        if self.below(10) == 0 { self.next() as u16 } else { *self.one_of(&world::TAGS) }
    }

    /// The frame, or one that differs from it in ways that matter, or noise.
    pub(crate) fn mutated(&mut self, frame: &[u8]) -> Vec<u8> {
        let mut frame = frame.to_vec();
        for _ in 0..[0, 1, 1, 1, 2, 3, 8][self.below(7) as usize] {
            self.mutate(&mut frame);
        }
        frame
    }

    fn mutate(&mut self, frame: &mut Vec<u8>) {
        let len = frame.len() as u32;
        if len < 16 {
            frame.resize(16 + self.below(200) as usize, 0);
            return;
        }
        // Headers are where the meaning is.
        let reach = if self.below(4) == 0 { len } else { len.min(130) };
        let at = self.below(reach) as usize;
        match self.below(12) {
            0..3 => frame[at] = self.byte(),
            3..5 => frame[at] ^= 1 << self.below(8),
            5 => {
                frame[at] =
                    *self.one_of(&[0, 1, 0xff, 0x45, 0x60, 0x88, 6, 17, 58, 1, 4, 41, 44, 47])
            }
            6 => self.put_word(frame, at),
            7 => frame.truncate(14 + self.below(len - 14) as usize),
            8 => frame.resize(frame.len() + self.below(64) as usize, 0),
            9 => self.tag_vlan(frame),
            10 => self.length(frame),
            _ => self.address(frame),
        }
    }

    /// A 16-bit number that means something to somebody.
    fn put_word(&mut self, frame: &mut [u8], at: usize) {
        let words = [
            0x0800, 0x86dd, 0x0806, 0x8100, 0x88a8, 0x9100, 0x88cc, 4789, 4790, 4791, 6081, 8472,
            2152, 3544, 6635, 2049, 443, 0, 1, 0x2000, 0x4000, 0x8000, 0x1fff, 1001, 1002, 2001,
            0xffff,
        ];
        let word: u16 = *self.one_of(&words);
        let places = [12, 16, 20, 36, 38, 44, 62, 66, 70, 84, 86, 88];
        let at = if self.below(2) == 0 { *self.one_of(&places) } else { at };
        if let Some(place) = frame.get_mut(at..at + 2) {
            place.copy_from_slice(&word.to_be_bytes());
        }
    }

    fn tag_vlan(&mut self, frame: &mut Vec<u8>) {
        let at = if self.below(3) == 0 && frame.len() > 70 { 62 } else { 12 };
        let kind: u16 = *self.one_of(&[0x8100, 0x88a8, 0x9100]);
        let [a, b] = kind.to_be_bytes();
        frame.splice(at..at, [a, b, 0, self.byte()]);
    }

    /// A length a little off.
    fn length(&mut self, frame: &mut [u8]) {
        let at = *self.one_of(&[16, 18, 38, 58, 66, 68, 88]);
        if let Some(place) = frame.get_mut(at..at + 2) {
            let old = u16::from_be_bytes([place[0], place[1]]);
            let new = old.wrapping_add(self.below(64) as u16).wrapping_sub(32);
            place.copy_from_slice(&new.to_be_bytes());
        }
    }

    /// Another address of the world where one may stand.
    fn address(&mut self, frame: &mut [u8]) {
        let at = *self.one_of(&[26, 30, 28, 38, 42, 50, 66, 76, 80, 84, 100]);
        let address = *self.one_of(&world::ADDRESSES);
        if let Some(place) = frame.get_mut(at..at + 4) {
            place.copy_from_slice(&address.octets());
        }
    }
}
