// SPDX-License-Identifier: MIT OR GPL-2.0
// The short way: what most frames are, at fixed places, straight out of the packet.
// It knows only how to say yes. Whatever is unusual is left to the whole rule (rule.h).
//
// A verdict here costs about as many nanoseconds as its instructions fill, so that headers are read
// and compared in words of up to eight bytes, little-endian, whatever their alignment.
#pragma once
#include "rule.h"

#define BE16(x) __builtin_bswap16((u16)(x))
#define BE32(x) __builtin_bswap32((u32)(x))
#define AT16(p, o) (*(const u16 *)((const u8 *)(p) + (o)))
#define AT32(p, o) (*(const u32 *)((const u8 *)(p) + (o)))
#define AT64(p, o) (*(const u64 *)((const u8 *)(p) + (o)))

// Ethernet, IPv4 without options, and TCP, or UDP with a RoCEv2 header.
#define PLAIN 54
// The same in a tunnel over IPv4.
#define TUNNELLED (50 + PLAIN)

// Of the eight bytes after the Ethernet addresses: the ethertype is IPv4 and the header has no
// options; the total length stands in the upper half.
INLINE u32 is_ipv4(u64 word)
{
	return (word & 0xffffff) == 0x450008;
}

INLINE u32 total_of(u64 word)
{
	return BE16(word >> 32);
}

// Of the four bytes from the fragment's field on: it is no fragment. The protocol is the last.
INLINE u32 is_whole(u32 word)
{
	return !(word & 0xffbf);
}

// Whether a frame, with so many bytes to its end, is an ordinary one.
INLINE u32 is_ordinary(const void *p, u32 bytes)
{
	u64 macs = AT64(p, 0), ip = AT64(p, 12), ports = AT64(p, 34);
	u32 total = total_of(ip), word = AT32(p, 20), protocol = word >> 24;
	// Neither address is a group's.
	if (macs & 0x0001000000000001ull || !is_ipv4(ip) || !is_whole(word) || 14 + total > bytes)
		return 0;
	if (protocol == 17) {
		u32 dport = BE16(ports >> 16);
		if (total < 28 || BE16(ports >> 32) != total - 20)
			return 0;
		if (dport == 4791)
			return total >= 44 && !(AT16(p, 42) & 0x0f00) && AT16(p, 44) & 0xff7f;
		// All tunnel ports lie between two numbers, and hardly anything else does.
		return (u16)(dport - 2152) > 8472 - 2152 || !is_tunnel_port(dport);
	}
	if (protocol == 6)
		return total >= 40 && (AT16(p, 46) & 0xff) >= 0x50;
	return protocol == 1 && total >= 28;
}

INLINE u32 is_roce(const void *p)
{
	return AT16(p, 36) == BE16(4791) && AT32(p, 20) >> 24 == 17;
}

// Between two jobs, of an ordinary frame. Rare enough to be a call.
static __noinline u32 permitted(const u8 *block, u64 bytes, const void *p, u32 space, u64 tags)
{
	struct policy policy = { block, bytes };
	u32 protocol = AT32(p, 20) >> 24, broken = 0, from = tags >> 32, to = (u32)tags;
	u32 opens = protocol == 6 && (AT16(p, 46) >> 8 & 0x12) == 0x02;
	if (protocol == 1 || is_roce(p) || !from || !to)
		return GO_ON;
	if (permits(&policy, space, from, to, protocol, BE16(AT16(p, 36)), &broken))
		return PERMIT;
	if (!broken && !opens && permits(&policy, space, to, from, protocol, BE16(AT16(p, 34)), &broken))
		return PERMIT;
	return GO_ON;
}

INLINE u32 short_fabric(const struct policy *policy, const void *t, u32 len, u32 *slot, u32 *number)
{
	const struct header *h = head(policy);
	const void *inner = (const u8 *)t + 50;
	u64 ip = AT64(t, 12), vxlan = AT64(t, 42), ends = AT64(inner, 26);
	u32 word = AT32(t, 20), udp = AT32(t, 36), total = total_of(ip), broken = 0;
	if (h->magic != MAGIC || !is_ipv4(ip) || !is_whole(word) || word >> 24 != 17 ||
	    (udp & 0xffff) != BE16(4789) || 14 + total > len || BE16(udp >> 16) != total - 20 ||
	    BE32(AT32(t, 30)) != h->vtep)
		return GO_ON;
	// Flags I and G must stand, D and A may; there is a tag; the last byte is zero.
	u32 tag = BE16(vxlan >> 16), vni = BE32(vxlan >> 32);
	if ((vxlan & 0xb7ff) != 0x0088 || !tag || vni & 0xff)
		return GO_ON;
	u32 index = indexed(policy, &h->vnis, vni >> 8, &broken);
	if (!index)
		return GO_ON;
	const struct space *space = space_at(policy, index - 1);
	if (!space || !is_ordinary(inner, total - 36))
		return GO_ON;
	// The source has this tag and is behind this tunnel endpoint, the destination is here.
	u64 from = record_word(policy, space, BE32(ends)), to = record_word(policy, space, BE32(ends >> 32));
	u64 expected = (u64)BE32(AT32(t, 26)) << 32 | tag;
	if ((from & ~0xffff0000ull) != expected || to >> 32 != h->vtep)
		return GO_ON;
	*slot = (u16)(to >> 16);
	*number = space->number;
	if ((u16)to == tag)
		return JOB;
	return permitted(policy->block, policy->bytes, inner, index - 1, (u64)tag << 32 | (u16)to);
}

// At a workload's port, in either direction: the port's own address is bound to its side.
INLINE u32 short_port(const struct policy *policy, const void *p, u32 len, u32 tag, u32 outwards,
		      const struct port *port, const struct space *space)
{
	if (!is_ordinary(p, len))
		return GO_ON;
	u32 from = BE32(AT32(p, 26)), to = BE32(AT32(p, 30));
	if ((outwards ? from : to) != port->address)
		return GO_ON;
	if (outwards && (AT32(p, 6) != AT32(port->mac, 0) || AT16(p, 10) != AT16(port->mac, 4)))
		return GO_ON;
	u32 peer = (u16)record_word(policy, space, outwards ? to : from);
	if (!peer || (!outwards && peer != tag))
		return GO_ON;
	if (peer == port->tag)
		return JOB;
	u64 tags = outwards ? (u64)port->tag << 32 | peer : (u64)peer << 32 | port->tag;
	return permitted(policy->block, policy->bytes, p, port->space, tags);
}
