// SPDX-License-Identifier: MIT OR GPL-2.0
// The whole rule of core/wire/README.md, over a copy of the frame's first bytes.
// Slow and complete: whatever the short way (short.h) does not know comes here.
#pragma once
#include "tables.h"

enum reason {
	JOB = 0, PERMIT, UNDERLAY, NEIGHBOUR,
	CLOSED = 16, TABLE, PORT, TRUNCATED, VLAN, ETHERTYPE, HEADER, OPTIONS, FRAGMENT, LENGTH,
	PROTOCOL, TUNNEL, NOT_OURS, VXLAN, UNTAGGED, VNI, FLOOD, SOURCE_MAC, SOURCE, OUTER_SOURCE, TAG,
	DESTINATION, ELSEWHERE, OTHER_JOB, ROCE, BTH, FORGED, RATE,
	GO_ON = 255, // no verdict yet
};

enum hook { FABRIC, WORKLOAD, LOCAL };

// All headers we read end before this byte: VLAN twice, IPv6, VXLAN, IPv6, neighbour discovery.
#define SEEN 192

enum kind { IP, ARP, ND };

// What IPv4 and IPv6 have in common.
struct ip {
	u32 six, protocol, payload, payload_at, from_at, to_at;
	u32 offset, more; // of an IPv4 fragment
};

// What an inner frame says.
struct inner {
	u32 kind;
	u32 from, from_known, to, to_known; // of ARP and ND: the speaker
	u32 from_own, to_own;               // whether it is under the number of the space's tenant
	u32 protocol, sport, dport;
	u32 group, fragment, opens, roce;
};

// A frame in front of the rule, and its answer. It stands in a map, not on the stack: what the
// verifier reads back from a map it takes for unknown, so that it follows one way and not one for
// each place where a header may begin.
struct frame {
	u8 b[256]; // the first SEEN bytes; room for reads that a mask keeps inside
	u32 len;   // of the whole frame
	u32 hook, interface, mark, vlan_beside;
	u32 source, destination; // tags, 0 until known
	u32 slot;                // of the counters of the job that is here
	u32 number, vni;         // the tenant's, and the outer header's
	u32 begin, end;          // of what is being read
	u32 outer, outer_known, tag;
	struct ip ip;
	struct inner in;
};

#define U8(o) ((u32)f->b[(o) & 255])
#define U16(o) (U8(o) << 8 | U8((o) + 1))
#define U32(o) (U16(o) << 16 | U16((o) + 2))

INLINE u32 is_tunnel_port(u32 port)
{
	return port == 4789 || port == 4790 || port == 6081 || port == 8472 || port == 2152 ||
	       port == 3544 || port == 6635;
}

INLINE u32 is_tunnel_protocol(u32 protocol)
{
	return protocol == 4 || protocol == 41 || protocol == 47 || protocol == 55 || protocol == 94 ||
	       protocol == 97 || protocol == 115 || protocol == 137;
}

INLINE u32 is_extension(u32 next)
{
	return next == 0 || next == 43 || next == 50 || next == 51 || next == 60 || next == 135 ||
	       next == 139 || next == 140;
}

// An IPv6 address of the numbering is an IPv4 address behind a prefix.
INLINE u32 v4_of_any(const struct frame *f, u32 o, u32 *v4)
{
	*v4 = U32(o + 12);
	return U32(o) == 0xfd8e5b3a && U16(o + 4) == 0x71c4 && U32(o + 8) == 0;
}

INLINE u32 v4_of(const struct frame *f, u32 o, u32 number, u32 *v4)
{
	return v4_of_any(f, o, v4) && U16(o + 6) == number;
}

INLINE u32 is_unspecified(const struct frame *f, u32 o)
{
	return !(U32(o) | U32(o + 4) | U32(o + 8) | U32(o + 12));
}

// Reads the IP header at `begin`.
static __noinline u32 ip_header(struct frame *f, u32 six)
{
	struct ip *ip = &f->ip;
	u32 o = f->begin, end = f->end;
	ip->six = six;
	ip->offset = ip->more = 0;
	if (six) {
		if (o + 40 > end)
			return TRUNCATED;
		if (U8(o) >> 4 != 6)
			return HEADER;
		ip->payload = U16(o + 4);
		if (o + 40 + ip->payload > end)
			return LENGTH;
		ip->protocol = U8(o + 6);
		if (ip->protocol == 44)
			return FRAGMENT;
		if (is_extension(ip->protocol))
			return OPTIONS;
		ip->payload_at = o + 40;
		ip->from_at = o + 8;
		ip->to_at = o + 24;
		return GO_ON;
	}
	if (o + 20 > end)
		return TRUNCATED;
	u32 first = U8(o), total = U16(o + 2), fragment = U16(o + 6);
	if (first >> 4 != 4 || (first & 15) < 5)
		return HEADER;
	if ((first & 15) > 5)
		return OPTIONS;
	if (total < 20 || o + total > end)
		return LENGTH;
	if (fragment & 0x8000)
		return HEADER;
	ip->more = (fragment >> 13) & 1;
	ip->offset = fragment & 0x1fff;
	ip->payload = total - 20;
	ip->protocol = U8(o + 9);
	ip->payload_at = o + 20;
	ip->from_at = o + 12;
	ip->to_at = o + 16;
	return GO_ON;
}

// Neighbour discovery, of the frame whose Ethernet header is at `begin`.
static __noinline u32 discovery(struct frame *f)
{
	u32 p = f->ip.payload_at, type = U8(p), ethernet = f->begin, payload = f->ip.payload;
	if (U8(p + 1) || U8(p - 33) != 255 || (payload != 24 && payload != 32) || U8(p + 8) == 0xff)
		return FORGED;
	if (payload == 32) {
		if (U8(p + 24) != (type == 135 ? 1 : 2) || U8(p + 25) != 1 ||
		    U32(p + 26) != U32(ethernet + 6) || U16(p + 30) != U16(ethernet + 10))
			return FORGED;
	}
	u32 speaker = p + 8;
	if (type == 135 && !is_unspecified(f, f->ip.from_at))
		speaker = f->ip.from_at;
	f->in.kind = ND;
	f->in.from_known = f->in.from_own = v4_of(f, speaker, f->number, &f->in.from);
	return GO_ON;
}

static __noinline u32 transport(struct frame *f)
{
	struct inner *in = &f->in;
	u32 p = f->ip.payload_at, payload = f->ip.payload, protocol = f->ip.protocol;
	u32 more = f->ip.more, offset = f->ip.offset, six = f->ip.six, icmp = six ? 58 : 1;
	in->protocol = protocol;
	if (is_tunnel_protocol(protocol))
		return TUNNEL;
	if (protocol != 6 && protocol != 17 && protocol != icmp)
		return PROTOCOL;
	in->fragment = more || offset;
	if (offset)
		return offset < 3 ? FRAGMENT : GO_ON;
	if (payload < (protocol == 6 ? 20 : 8))
		return more ? FRAGMENT : LENGTH;
	if (protocol == icmp) {
		u32 type = U8(p);
		if (!six || type < 133 || type > 137)
			return GO_ON;
		return type == 135 || type == 136 ? discovery(f) : FORGED;
	}
	in->sport = U16(p);
	in->dport = U16(p + 2);
	if (protocol == 6) {
		in->opens = (U8(p + 13) & 0x12) == 0x02;
		return U8(p + 12) >> 4 < 5 ? HEADER : GO_ON;
	}
	u32 length = U16(p + 4);
	if (more ? length < 8 : length != payload)
		return LENGTH;
	if (is_tunnel_port(in->dport))
		return TUNNEL;
	if (in->dport == 4791) {
		in->roce = 1;
		if (more || payload < 24 || U8(p + 9) & 15 || !(U16(p + 10) & 0x7fff))
			return BTH;
	}
	return GO_ON;
}

static __noinline u32 arp(struct frame *f)
{
	struct inner *in = &f->in;
	u32 x = f->begin, o = x + 14;
	if (o + 28 > f->end)
		return TRUNCATED;
	if (U16(o) != 1 || U16(o + 2) != 0x0800 || U16(o + 4) != 0x0604 ||
	    (U16(o + 6) != 1 && U16(o + 6) != 2))
		return FORGED;
	if (U32(o + 8) != U32(x + 6) || U16(o + 12) != U16(x + 10))
		return FORGED;
	if (in->group && (U32(x) != 0xffffffff || U16(x + 4) != 0xffff))
		return FLOOD;
	in->kind = ARP;
	in->from = U32(o + 14);
	in->from_known = in->from_own = 1;
	in->opens = U16(o + 6) == 1;
	return GO_ON;
}

// Reads the inner frame from `begin` to `end`, in the space of tenant `number`.
static __noinline u32 inner_frame(struct frame *f)
{
	struct inner *in = &f->in;
	u32 x = f->begin;
	__builtin_memset(in, 0, sizeof(*in));
	if (x + 14 > f->end)
		return TRUNCATED;
	if (U8(x + 6) & 1)
		return SOURCE_MAC;
	in->group = U8(x) & 1;
	u32 type = U16(x + 12);
	if (type == 0x8100 || type == 0x88a8 || type == 0x9100)
		return VLAN;
	if (type == 0x0806)
		return arp(f);
	if (type != 0x0800 && type != 0x86dd)
		return ETHERTYPE;
	f->begin = x + 14;
	u32 said = ip_header(f, type == 0x86dd);
	f->begin = x;
	if (said != GO_ON)
		return said;
	said = transport(f);
	if (said != GO_ON || in->kind == ND)
		return said;
	if (f->ip.six) {
		u32 from = U16(f->ip.from_at + 6), to = U16(f->ip.to_at + 6);
		in->from_known = v4_of_any(f, f->ip.from_at, &in->from) && from;
		in->to_known = v4_of_any(f, f->ip.to_at, &in->to) && to;
		in->from_own = in->from_known && from == f->number;
		in->to_own = in->to_known && to == f->number;
	} else {
		in->from_known = in->to_known = in->from_own = in->to_own = 1;
		in->from = U32(f->ip.from_at);
		in->to = U32(f->ip.to_at);
	}
	return GO_ON;
}

INLINE u32 across(const struct policy *policy, u32 space, struct frame *f)
{
	const struct inner *in = &f->in;
	u32 broken = 0;
	if (f->source == f->destination && in->from_own && in->to_own)
		return JOB;
	if (in->roce)
		return ROCE;
	if (in->fragment)
		return FRAGMENT;
	if (in->protocol != 6 && in->protocol != 17)
		return OTHER_JOB;
	if (permits(policy, space, f->source, f->destination, in->protocol, in->dport, &broken))
		return PERMIT;
	if (broken)
		return TABLE;
	if (!in->opens &&
	    permits(policy, space, f->destination, f->source, in->protocol, in->sport, &broken))
		return PERMIT;
	return broken ? TABLE : OTHER_JOB;
}

// Reads the outer headers up to the UDP payload of a tunnel.
static __noinline u32 outer_frame(struct frame *f)
{
	u32 o = 14;
	if (f->len < 14)
		return TRUNCATED;
	u32 type = U16(12);
#pragma unroll
	for (int i = 0; i < 2; i++) {
		if (type != 0x8100 && type != 0x88a8)
			break;
		if (f->len < o + 4)
			return TRUNCATED;
		type = U16(o + 2);
		o += 4;
	}
	if (type == 0x8100 || type == 0x88a8)
		return VLAN;
	if (type == 0x0806 || type == 0x88cc)
		return UNDERLAY;
	if (type != 0x0800 && type != 0x86dd)
		return ETHERTYPE;
	f->begin = o;
	f->end = f->len;
	u32 said = ip_header(f, type == 0x86dd);
	if (said != GO_ON)
		return said;
	u32 protocol = f->ip.protocol, p = f->ip.payload_at;
	if (f->ip.more || f->ip.offset)
		return FRAGMENT;
	if (protocol == 6 || protocol == (f->ip.six ? 58 : 1))
		return UNDERLAY;
	if (is_tunnel_protocol(protocol))
		return TUNNEL;
	if (protocol != 17)
		return PROTOCOL;
	if (f->ip.payload < 8)
		return LENGTH;
	u32 dport = U16(p + 2);
	if (!is_tunnel_port(dport))
		return UNDERLAY;
	if (dport != 4789)
		return TUNNEL;
	if (U16(p + 4) != f->ip.payload)
		return LENGTH;
	return f->ip.payload < 30 ? TRUNCATED : GO_ON;
}

// Reads the tunnel's header and finds where the inner frame is.
static __noinline u32 tunnel_header(struct frame *f, u32 own)
{
	u32 p = f->ip.payload_at, v = p + 8, to, known = 1;
	if (f->ip.six) {
		known = v4_of(f, f->ip.to_at, 0, &to);
		f->outer_known = v4_of(f, f->ip.from_at, 0, &f->outer);
	} else {
		to = U32(f->ip.to_at);
		f->outer = U32(f->ip.from_at);
		f->outer_known = 1;
	}
	if (!known || to != own)
		return NOT_OURS;
	u32 flags = U8(v);
	if (!(flags & 0x08) || flags & ~0x88 || U8(v + 1) & ~0x48 || U8(v + 7))
		return VXLAN;
	f->tag = U16(v + 2);
	if (!(flags & 0x80) || !f->tag)
		return UNTAGGED;
	f->vni = U32(v + 4) >> 8;
	f->begin = v + 8;
	f->end = p + f->ip.payload;
	return GO_ON;
}

// Without a policy only the underlay passes.
INLINE u32 from_fabric(const struct policy *policy, struct frame *f)
{
	const struct header *h = head(policy);
	u32 broken = 0, said = outer_frame(f);
	if (said != GO_ON)
		return said;
	if (!policy->block)
		return CLOSED;
	if (h->magic != MAGIC)
		return TABLE;
	said = tunnel_header(f, h->vtep);
	if (said != GO_ON)
		return said;
	u32 index = indexed(policy, &h->vnis, f->vni, &broken);
	if (broken)
		return TABLE;
	if (!index)
		return VNI;
	const struct space *space = space_at(policy, index - 1);
	if (!space)
		return TABLE;
	f->number = space->number;
	said = inner_frame(f);
	if (said != GO_ON)
		return said;
	if (f->in.kind == IP && f->in.group)
		return FLOOD;
	const struct record *from = 0, *to = 0;
	if (f->in.from_known)
		from = record_of(policy, space, f->in.from, &broken);
	if (broken)
		return TABLE;
	if (!from)
		return SOURCE;
	f->source = from->tag;
	if (!f->outer_known || from->vtep != f->outer)
		return OUTER_SOURCE;
	if (from->tag != f->tag)
		return TAG;
	if (f->in.kind != IP)
		return NEIGHBOUR;
	if (f->in.to_known)
		to = record_of(policy, space, f->in.to, &broken);
	if (broken)
		return TABLE;
	if (!to)
		return DESTINATION;
	f->destination = to->tag;
	if (to->vtep != h->vtep)
		return ELSEWHERE;
	f->slot = to->slot;
	return across(policy, index - 1, f);
}

// The port a frame is at.
INLINE u32 seat(const struct policy *policy, u32 interface, const struct port **port)
{
	const struct header *h = head(policy);
	u32 broken = 0, index = indexed(policy, &h->interfaces, interface, &broken);
	if (broken)
		return TABLE;
	if (!index)
		return PORT;
	*port = port_at(policy, index - 1);
	return *port ? GO_ON : TABLE;
}

// What both directions of a port begin with; the port's tag is the one of its end.
INLINE u32 at_port(const struct policy *policy, struct frame *f, u32 *tag, const struct port **port,
		   const struct space **space)
{
	if (!policy->block)
		return CLOSED;
	if (head(policy)->magic != MAGIC)
		return TABLE;
	u32 said = seat(policy, f->interface, port);
	if (said != GO_ON)
		return said;
	*tag = (*port)->tag;
	f->slot = (*port)->slot;
	*space = space_at(policy, (*port)->space);
	if (!*space)
		return TABLE;
	f->number = (*space)->number;
	if (f->vlan_beside)
		return VLAN;
	f->begin = 0;
	f->end = f->len;
	return inner_frame(f);
}

INLINE u32 from_workload(const struct policy *policy, struct frame *f)
{
	const struct port *port;
	const struct space *space;
	u32 broken = 0, said = at_port(policy, f, &f->source, &port, &space);
	if (said != GO_ON)
		return said;
	if (U8(6) != port->mac[0] || U8(7) != port->mac[1] || U8(8) != port->mac[2] ||
	    U8(9) != port->mac[3] || U8(10) != port->mac[4] || U8(11) != port->mac[5])
		return SOURCE_MAC;
	if (f->in.kind == ARP && f->in.opens && f->in.from == 0)
		return NEIGHBOUR;
	if (f->in.kind == IP && f->in.group)
		return FLOOD;
	if (!f->in.from_own || f->in.from != port->address)
		return SOURCE;
	if (f->in.kind != IP)
		return NEIGHBOUR;
	const struct record *to = 0;
	if (f->in.to_known)
		to = record_of(policy, space, f->in.to, &broken);
	if (broken)
		return TABLE;
	if (!to)
		return DESTINATION;
	f->destination = to->tag;
	return across(policy, port->space, f);
}

INLINE u32 to_workload(const struct policy *policy, struct frame *f)
{
	const struct port *port;
	const struct space *space;
	u32 broken = 0, said = at_port(policy, f, &f->destination, &port, &space);
	if (said != GO_ON)
		return said;
	if (f->in.kind != IP && !f->mark && U32(6) == 0x02000000 && U16(10) == 0x0001)
		return NEIGHBOUR;
	if (f->in.kind == IP) {
		if (f->in.group)
			return FLOOD;
		if (!f->in.to_own || f->in.to != port->address)
			return DESTINATION;
		if (!f->mark)
			return UNTAGGED;
	}
	const struct record *from = 0;
	if (f->in.from_known)
		from = record_of(policy, space, f->in.from, &broken);
	if (broken)
		return TABLE;
	if (!from)
		return SOURCE;
	f->source = from->tag;
	if (f->in.kind != IP) {
		if (from->tag != port->tag)
			return OTHER_JOB;
		return f->mark && f->mark != from->tag ? TAG : NEIGHBOUR;
	}
	if (from->tag != f->mark)
		return TAG;
	return across(policy, port->space, f);
}
