//! A workload's place in the lab, handed over to a virtual machine.

use std::net::IpAddr;

use super::FABRIC;
use super::host::{self, namespace};
use super::trial::Family;
use crate::Failure;
use crate::guest::Machine;

/// The bridge between a workload's interface and the machine behind it.
const BRIDGE: &str = "machine";

/// What the lab gave a workload, and what the machine in its place has to wear.
pub(super) struct Seat {
    pub(super) workload: &'static str,
    mac: String,
    four: Way,
    six: Way,
}

/// An address as the lab set it up.
struct Way {
    address: IpAddr,
    /// The address with the length of its prefix.
    with_prefix: String,
    gateway: String,
}

impl Seat {
    /// Remembers what a workload has, and takes it away from it: from now on its interface only
    /// carries frames between the leaf and whichever machine is put here.
    pub(super) fn take(workload: &'static str) -> Result<Self, Failure> {
        let own = namespace(workload);
        let (four, six) = (way(&own, "-4")?, way(&own, "-6")?);
        let seat = Self { workload, mac: mac(&own)?, four, six };
        host::batch(&[
            &format!("-n {own} address flush dev eth0"),
            // A bridge keeps for itself what is sent to the addresses of its own ports. Both ends
            // of the cable stay up, so that the leaf notices nothing.
            &format!("-n {own} link set eth0 address 06:00:00:00:00:01"),
            &format!("-n {own} link add {BRIDGE} mtu 9000 type bridge mcast_snooping 0"),
            &format!("-n {own} link set {BRIDGE} addrgenmode none up"),
            &format!("-n {own} link set eth0 master {BRIDGE}"),
        ])?;
        Ok(seat)
    }

    /// Puts a machine here that was somewhere else, and dresses it as the workload.
    pub(super) fn seat(&self, machine: &mut Machine, was: &str) -> Result<(), Failure> {
        let (own, tap) = (namespace(self.workload), format!("{FABRIC}-{}", machine.name()));
        if own != was {
            host::batch(&[
                &format!("-n {was} link set {tap} netns {own}"),
                &format!("-n {own} link set {tap} master {BRIDGE} addrgenmode none mtu 9000 up"),
            ])?;
        }
        let Self { four, six, .. } = self;
        machine.tell(&format!(
            "dress {} {} {} {} {}",
            self.mac, four.with_prefix, four.gateway, six.with_prefix, six.gateway
        ))?;
        Ok(())
    }

    pub(super) fn address(&self, family: Family) -> IpAddr {
        match family {
            Family::Four => self.four.address,
            Family::Six => self.six.address,
        }
    }

    /// The name of this place in RDMA.
    pub(super) fn gid(&self, family: Family) -> String {
        gid(self.address(family))
    }
}

/// How the kernel writes an address as a GID of RoCEv2.
fn gid(address: IpAddr) -> String {
    let long = match address {
        IpAddr::V4(short) => short.to_ipv6_mapped(),
        IpAddr::V6(long) => long,
    };
    long.segments().map(|part| format!("{part:04x}")).join(":")
}

fn mac(own: &str) -> Result<String, Failure> {
    let said = host::ip(&["-n", own, "-oneline", "link", "show", "dev", "eth0"])?;
    word_after(&said, "link/ether").ok_or_else(|| undressed(own, "Ethernet address"))
}

fn way(own: &str, family: &str) -> Result<Way, Failure> {
    let shown =
        ["-n", own, family, "-oneline", "address", "show", "dev", "eth0", "scope", "global"];
    let said = host::ip(&shown)?;
    let word = if family == "-4" { "inet" } else { "inet6" };
    let with_prefix = word_after(&said, word).ok_or_else(|| undressed(own, word))?;
    let address = with_prefix.split('/').next().and_then(|address| address.parse().ok());
    let said = host::ip(&["-n", own, family, "route", "show", "default"])?;
    let gateway = word_after(&said, "via").ok_or_else(|| undressed(own, "gateway"))?;
    Ok(Way { address: address.ok_or_else(|| undressed(own, word))?, with_prefix, gateway })
}

fn undressed(own: &str, what: &str) -> Failure {
    Failure::Broken(format!("eth0 in {own} has no {what}: did the lab set up its workloads?"))
}

fn word_after(text: &str, before: &str) -> Option<String> {
    let mut words = text.split_whitespace();
    words.find(|word| *word == before)?;
    words.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gids_are_written_as_the_kernel_writes_them() {
        let gid = |address: &str| super::gid(address.parse().unwrap());
        assert_eq!(gid("10.1.0.2"), "0000:0000:0000:0000:0000:ffff:0a01:0002");
        assert_eq!(gid("fd8e:5b3a:71c4:1::a01:2"), "fd8e:5b3a:71c4:0001:0000:0000:0a01:0002");
    }

    #[test]
    fn what_the_lab_set_up_is_found_in_what_ip_prints() {
        let said = "2: eth0    inet 10.1.0.2/29 scope global eth0\\       valid_lft forever";
        assert_eq!(word_after(said, "inet").as_deref(), Some("10.1.0.2/29"));
        assert_eq!(word_after("default via 10.1.0.1 dev eth0", "via").as_deref(), Some("10.1.0.1"));
        assert_eq!(word_after("", "via"), None);
    }
}
