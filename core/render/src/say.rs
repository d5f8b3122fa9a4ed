//! Words and numbers appended to a configuration, faster than formatting them.

use std::net::Ipv4Addr;

use model::{
    Asn, Guid, JobName, Name, PciAddress, Port, Protocol, RouteDistinguisher, RouteTarget,
    TenantName, TrafficClass, VrfName,
};
use wire::{Mac, Tag, Vni};

/// Writes words and numbers one after the other: `say!(out, "vni ", vni, "\n")`.
///
/// A large fleet is gigabytes of short lines; this is several times faster than `write!`, which
/// looks every number's formatting options up again.
macro_rules! say {
    ($out:expr, $($word:expr),+ $(,)?) => {{
        $($crate::say::Say::say(&$word, $out);)+
    }};
}
pub(crate) use say;

/// What can stand in a configuration. Says the same as `Display`.
pub(crate) trait Say {
    /// Appends the text.
    fn say(&self, out: &mut String);
}

impl<T: Say + ?Sized> Say for &T {
    fn say(&self, out: &mut String) {
        (**self).say(out);
    }
}

impl Say for str {
    fn say(&self, out: &mut String) {
        out.push_str(self);
    }
}

impl Say for u8 {
    fn say(&self, out: &mut String) {
        if *self >= 100 {
            out.push(digit(*self / 100));
        }
        if *self >= 10 {
            out.push(digit(*self / 10 % 10));
        }
        out.push(digit(*self % 10));
    }
}

impl Say for u64 {
    fn say(&self, out: &mut String) {
        let mut digits = [0_u8; 20]; // as many as the largest has
        let mut left = *self;
        let mut count = 0;
        for place in &mut digits {
            *place = (left % 10) as u8;
            left /= 10;
            count += 1;
            if left == 0 {
                break;
            }
        }
        out.extend(digits[..count].iter().rev().map(|&value| digit(value)));
    }
}

impl Say for u32 {
    fn say(&self, out: &mut String) {
        u64::from(*self).say(out);
    }
}

impl Say for u16 {
    fn say(&self, out: &mut String) {
        u64::from(*self).say(out);
    }
}

impl Say for Ipv4Addr {
    fn say(&self, out: &mut String) {
        let [a, b, c, d] = self.octets();
        say!(out, a, ".", b, ".", c, ".", d);
    }
}

impl Say for Mac {
    fn say(&self, out: &mut String) {
        for (place, byte) in self.0.into_iter().enumerate() {
            if place > 0 {
                out.push(':');
            }
            say_hex(byte, out);
        }
    }
}

impl Say for Port {
    fn say(&self, out: &mut String) {
        match self {
            Self::Ethernet(number) => say!(out, "Ethernet1/", number),
            Self::Swp(number) => say!(out, "swp", number),
            Self::Rep(number) => say!(out, "rep", number),
            Self::Nic(number) => say!(out, "nic", number),
        }
    }
}

impl Say for Protocol {
    fn say(&self, out: &mut String) {
        out.push_str(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        });
    }
}

impl Say for TrafficClass {
    fn say(&self, out: &mut String) {
        out.push_str(self.as_str());
    }
}

impl Say for RouteDistinguisher {
    fn say(&self, out: &mut String) {
        say!(out, self.device, ":", self.number);
    }
}

impl Say for RouteTarget {
    fn say(&self, out: &mut String) {
        say!(out, self.asn, ":", self.number);
    }
}

impl Say for Vni {
    fn say(&self, out: &mut String) {
        self.get().say(out);
    }
}

impl Say for Tag {
    fn say(&self, out: &mut String) {
        self.get().say(out);
    }
}

impl Say for Asn {
    fn say(&self, out: &mut String) {
        self.0.say(out);
    }
}

impl Say for VrfName {
    fn say(&self, out: &mut String) {
        out.push_str(&self.0);
    }
}

impl Say for Name {
    fn say(&self, out: &mut String) {
        out.push_str(self.as_str());
    }
}

impl Say for TenantName {
    fn say(&self, out: &mut String) {
        out.push_str(self.as_str());
    }
}

impl Say for JobName {
    fn say(&self, out: &mut String) {
        say!(out, self.tenant, "/", self.name);
    }
}

impl Say for PciAddress {
    fn say(&self, out: &mut String) {
        let [high, low] = self.domain.to_be_bytes();
        say_hex(high, out);
        say_hex(low, out);
        out.push(':');
        say_hex(self.bus, out);
        out.push(':');
        say_hex(self.devfn >> 3, out);
        say!(out, ".", self.devfn & 7);
    }
}

impl Say for Guid {
    fn say(&self, out: &mut String) {
        out.push_str("0x");
        self.0.to_be_bytes().into_iter().for_each(|byte| say_hex(byte, out));
    }
}

/// Two digits.
pub(crate) fn say_hex(byte: u8, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.push(char::from(HEX[usize::from(byte >> 4)]));
    out.push(char::from(HEX[usize::from(byte & 0xf)]));
}

fn digit(value: u8) -> char {
    char::from(b'0' + value)
}

#[cfg(test)]
mod tests {
    use std::fmt::Display;

    use super::*;

    #[test]
    fn what_is_said_is_what_is_displayed() {
        (0..=u8::MAX).for_each(check);
        (0..=u16::MAX).for_each(check);
        for number in around_the_powers_of_ten() {
            check(number);
            check(number as u32);
            check(Asn(number as u32));
            check(Ipv4Addr::from(number as u32));
            for port in [Port::Ethernet, Port::Swp, Port::Rep, Port::Nic] {
                check(port(number as u16));
            }
            let [a, b, c, d, e, f, ..] = number.to_le_bytes();
            check(Mac([a, b, c, d, e, f]));
            check(PciAddress { domain: number as u16, bus: c, devfn: d });
            check(Guid(number));
            check(RouteDistinguisher {
                device: Ipv4Addr::from(number as u32),
                number: number as u16,
            });
            check(RouteTarget { asn: number as u16, number: number as u32 });
        }
        check(Protocol::Tcp);
        check(Protocol::Udp);
        TrafficClass::ALL.into_iter().for_each(check);
        check(Vni::try_from(Vni::MAX).unwrap());
        check(Tag::try_from(u16::MAX).unwrap());
        check(VrfName("t17".into()));
        let job: JobName = "acme/research/train".parse().unwrap();
        check(job.tenant.clone());
        check(job.name.clone());
        check(job);
    }

    fn around_the_powers_of_ten() -> impl Iterator<Item = u64> {
        let powers = (0..20).map(|exponent| 10_u64.pow(exponent));
        powers.flat_map(|power| [power - 1, power, power + 1]).chain([u64::MAX])
    }

    fn check(thing: impl Say + Display) {
        let mut said = String::new();
        thing.say(&mut said);
        assert_eq!(said, thing.to_string());
    }
}
