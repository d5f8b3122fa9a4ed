// SPDX-License-Identifier: MIT OR GPL-2.0
// The short way: what most frames are, at fixed places, straight out of the packet.
// It knows only how to say yes. Whatever is unusual is left to the whole rule (rule.h).
#pragma once
#include "rule.h"

#define BE16(x) __builtin_bswap16(x)
#define BE32(x) __builtin_bswap32(x)

// IPv4 without options, and what follows it: enough for TCP, or for UDP and a RoCEv2 header.
struct plain {
	u8 to_mac[6], from_mac[6];
	u16 type;
	u8 version, tos;
	u16 total, id, fragment;
	u8 ttl, protocol;
	u16 sum;
	u32 from, to;
	u16 sport, dport;
	u16 length, usum; // of UDP
	u8 opcode, version4, pkey[2], qp[8]; // of RoCEv2
} __attribute__((packed));

struct tunnelled {
	u8 macs[12];
	u16 type;
	u8 version, tos;
	u16 total, id, fragment;
	u8 ttl, protocol;
	u16 sum;
	u32 from, to;
	u16 sport, dport, length, usum;
	u32 flags;
	u32 vni;
	struct plain inner;
} __attribute__((packed));

// What of a plain frame matters across jobs.
struct service { u32 protocol, sport, dport, opens, roce; };

// Whether the frame, with so many bytes to its end, is an ordinary one, and which.
INLINE u32 is_ordinary(const struct plain *p, u32 bytes, struct service *s)
{
	u32 total = BE16(p->total);
	if ((p->to_mac[0] | p->from_mac[0]) & 1 || p->type != BE16(0x0800) || p->version != 0x45 ||
	    p->fragment & BE16(0xbfff) || 14 + total > bytes)
		return 0;
	s->protocol = p->protocol;
	s->sport = BE16(p->sport);
	s->dport = BE16(p->dport);
	s->opens = s->roce = 0;
	if (p->protocol == 17) {
		if (total < 28 || BE16(p->length) != total - 20)
			return 0;
		if (s->dport == 4791) {
			s->roce = 1;
			return total >= 44 && !(p->version4 & 15) && (p->pkey[0] & 0x7f) | p->pkey[1];
		}
		return !is_tunnel_port(s->dport);
	}
	if (p->protocol == 6) {
		const u8 *tcp = (const u8 *)&p->sport;
		s->opens = (tcp[13] & 0x12) == 0x02;
		return total >= 40 && tcp[12] >> 4 >= 5;
	}
	return p->protocol == 1 && total >= 28;
}

INLINE u32 permitted(const u8 *policy, const struct header *h, u32 space, u32 from, u32 to,
		     const struct service *s)
{
	u32 broken = 0;
	if (s->roce || s->protocol == 1)
		return GO_ON;
	if (permits(policy, h, space, from, to, s->protocol, s->dport, &broken))
		return PERMIT;
	if (!broken && !s->opens && permits(policy, h, space, to, from, s->protocol, s->sport, &broken))
		return PERMIT;
	return GO_ON;
}

INLINE u32 short_fabric(const u8 *policy, const struct tunnelled *t, u32 len, u32 *slot, u32 *number)
{
	const struct header *h = (const void *)policy;
	u32 total = BE16(t->total), broken = 0;
	if (h->magic != MAGIC || t->type != BE16(0x0800) || t->version != 0x45 || t->protocol != 17 ||
	    t->fragment & BE16(0xbfff) || t->dport != BE16(4789) || 14 + total > len ||
	    BE16(t->length) != total - 20 || BE32(t->to) != h->vtep)
		return GO_ON;
	// Flags I and G must stand, D and A may, and the last byte is zero.
	u32 tag = BE16((u16)(t->flags >> 16));
	if ((t->flags & 0xb7ff) != 0x0088 || !tag || t->vni & BE32(0xff))
		return GO_ON;
	u32 index = indexed(policy, &h->vnis, BE32(t->vni) >> 8, &broken);
	if (!index)
		return GO_ON;
	const struct space *space = space_at(policy, h, index - 1);
	struct service service;
	if (!space || !is_ordinary(&t->inner, total - 36, &service))
		return GO_ON;
	const struct record *from = record_of(policy, space, BE32(t->inner.from), &broken);
	const struct record *to = record_of(policy, space, BE32(t->inner.to), &broken);
	if (!from || !to || from->vtep != BE32(t->from) || from->tag != tag || to->vtep != h->vtep)
		return GO_ON;
	*slot = to->slot;
	*number = space->number;
	if (from->tag == to->tag)
		return JOB;
	return permitted(policy, h, index - 1, from->tag, to->tag, &service);
}

// At a workload's port, in either direction: the port's own address is bound to its side.
INLINE u32 short_port(const u8 *policy, const struct plain *p, u32 len, u32 tag, u32 outwards,
		      const struct port *port, const struct space *space, struct service *service)
{
	const struct header *h = (const void *)policy;
	u32 broken = 0;
	if (!is_ordinary(p, len, service))
		return GO_ON;
	u32 own = outwards ? p->from : p->to, other = outwards ? p->to : p->from;
	if (BE32(own) != port->address)
		return GO_ON;
	if (outwards && (*(u32 *)p->from_mac != *(u32 *)port->mac ||
			 *(u16 *)(p->from_mac + 4) != *(u16 *)(port->mac + 4)))
		return GO_ON;
	const struct record *peer = record_of(policy, space, BE32(other), &broken);
	if (!peer || (!outwards && peer->tag != tag))
		return GO_ON;
	if (peer->tag == port->tag)
		return JOB;
	if (outwards)
		return permitted(policy, h, port->space, port->tag, peer->tag, service);
	return permitted(policy, h, port->space, peer->tag, port->tag, service);
}
