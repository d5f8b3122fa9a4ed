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

// Of the four bytes after the Ethernet addresses: the ethertype is IPv4 and the header has no options.
INLINE u32 is_ipv4(u32 word)
{
	return (word & 0xffffff) == 0x450008;
}

// Of the four bytes from the fragment's field on: the protocol, and that it is no fragment.
#define KIND(word) ((word) & 0xff00ffbf)
#define KIND_OF(protocol) ((u32)(protocol) << 24)

// The destination port and the length of a UDP header in an IPv4 packet of so many bytes, as they stand
// beside each other. Of less than 20 bytes the difference reaches into the port: that packet is to be
// refused by its length.
INLINE u32 udp_in(u32 total, u32 dport)
{
	return (dport << 16) + total - 20;
}

// Whether a frame is an ordinary one, whose first byte is this far from where `bytes` are counted.
INLINE u32 is_ordinary(const void *p, u32 begin, u32 bytes)
{
	u32 total = BE16(AT16(p, 16)), kind = KIND(AT32(p, 20));
	// Neither address is a group's.
	if (AT64(p, 0) & 0x0001000000000001ull || !is_ipv4(AT32(p, 12)) || begin + 14 + total > bytes)
		return 0;
	if (__builtin_expect(kind == KIND_OF(17), 1)) {
		u32 udp = BE32(AT32(p, 36)), bth = AT32(p, 42), dport = udp >> 16;
		if (__builtin_expect(udp == udp_in(total, 4791), 1))
			return total >= 44 && !(bth & 0x0f00) && bth & 0xff7f0000;
		if (udp != udp_in(total, dport) || total < 28)
			return 0;
		// All tunnel ports lie between two numbers, and hardly anything else does.
		return dport - 2152 > 8472 - 2152 || !is_tunnel_port(dport);
	}
	if (kind == KIND_OF(6))
		return total >= 40 && (AT16(p, 46) & 0xff) >= 0x50;
	return kind == KIND_OF(1) && total >= 28;
}

INLINE u32 is_roce(const void *p)
{
	return AT16(p, 36) == BE16(4791) && AT32(p, 20) >> 24 == 17;
}

// Between two jobs, of an ordinary frame. Rare enough to be a call.
static __noinline u32 permitted(const u8 *block, const void *p, u32 space, u64 tags)
{
	struct policy policy = { .block = block, .bytes = POLICY_BYTES };
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

// Whether both ends of a tunnelled frame are whom it names: the source has the frame's tag and is behind
// the frame's tunnel endpoint, the destination is here. Says also where the destination's job is counted.
INLINE u32 matched(const struct policy *policy, const void *t, const struct space *s, u32 index, u32 pages,
		   u32 *slot)
{
	u32 tag = BE16(AT16(t, 44)), own = head(policy)->vtep;
	const struct record *from = record_at(policy, s, BE32(AT32(t, 76)), pages);
	if (!from || !tag || from->tag != tag || from->vtep != BE32(AT32(t, 26)))
		return GO_ON;
	const struct record *to = record_at(policy, s, BE32(AT32(t, 80)), pages);
	if (!to || to->vtep != own || BE32(AT32(t, 30)) != own)
		return GO_ON;
	u32 peer = to->tag;
	*slot = to->slot;
	if (peer == tag)
		return JOB;
	return permitted(policy->block, (const u8 *)t + 50, index, (u64)tag << 32 | peer);
}

// The same where records are in pages: the verdict, and above it the slot. Rarer, and a call, so that
// the other stays short.
static __noinline u32 matched_in_pages(const u8 *block, const void *t, const struct space *s, u32 index)
{
	struct policy policy = { .block = block, .bytes = POLICY_BYTES, .step = STEP };
	u32 slot = 0, said = matched(&policy, t, s, index, 1, &slot);
	return slot << 16 | said;
}

INLINE u32 short_fabric(const struct policy *policy, const void *t, u32 len, u32 *slot,
			const struct space **space)
{
	const struct header *h = head(policy);
	u32 total = BE16(AT16(t, 16)), broken = 0;
	// Of VXLAN, flags I and G must stand, D and A may; the last byte is zero.
	if (h->magic != MAGIC || !is_ipv4(AT32(t, 12)) || KIND(AT32(t, 20)) != KIND_OF(17) ||
	    14 + total > len || !is_ordinary((const u8 *)t + 50, 36, total) ||
	    BE32(AT32(t, 36)) != udp_in(total, 4789) || (AT16(t, 42) & 0xb7ff) != 0x0088 ||
	    AT16(t, 48) >> 8)
		return GO_ON;
	// Without a space the index is 0, and the one before it none that a policy has.
	u32 index = indexed(policy, &h->vnis, BE32(AT32(t, 46)) >> 8, &broken) - 1;
	const struct space *s = *space = space_at(policy, index);
	if (!s)
		return GO_ON;
	if (!s->paged)
		return matched(policy, t, s, index, 0, slot);
	u32 said = matched_in_pages(policy->block, t, s, index);
	*slot = said >> 16;
	return said & 0xffff;
}

// At a workload's port, in either direction: the port's own address is bound to its side.
INLINE u32 short_port(const struct policy *policy, const void *p, u32 len, u32 tag, u32 outwards,
		      const struct port *port, const struct space *space)
{
	if (!is_ordinary(p, 0, len))
		return GO_ON;
	u32 from = BE32(AT32(p, 26)), to = BE32(AT32(p, 30));
	if ((outwards ? from : to) != port->address)
		return GO_ON;
	if (outwards && (AT32(p, 6) != AT32(port->mac, 0) || AT16(p, 10) != AT16(port->mac, 4)))
		return GO_ON;
	const struct record *record = record_at(policy, space, outwards ? to : from, space->paged);
	u32 peer = record ? record->tag : 0;
	if (!peer || (!outwards && peer != tag))
		return GO_ON;
	if (peer == port->tag)
		return JOB;
	u64 tags = outwards ? (u64)port->tag << 32 | peer : (u64)peer << 32 | port->tag;
	return permitted(policy->block, p, port->space, tags);
}
