// SPDX-License-Identifier: MIT OR GPL-2.0
// One policy: a block of bytes, laid out as core/wire/README.md says.
// Reading is total: whatever points outside of the block is broken.
#pragma once

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#define INLINE static __always_inline
#define MAGIC 0x31544c42

struct list { u32 first, len, at; };
struct array { u32 at, len; };

struct header {
	u32 magic, length;
	u64 generation;
	u32 vtep;
	struct list vnis, interfaces;
	struct array spaces, ports;
	u32 permits_at, permits_mask;
};

struct space {
	u32 first, len, at, paged, number, zero;
	u64 guarantee_bps, ceiling_bps;
	u64 rest[3];
};

struct record { u16 tag, slot; u32 vtep; };

struct port {
	u32 interface, space, address;
	u16 tag;
	u8 mac[6];
	u16 slot, burst;
	u64 rest;
};

struct permit {
	u32 space; // index + 1
	u16 client, provider, port;
	u8 protocol, rest[5];
};

struct bucket { struct permit permits[4]; };

// The size of the block, set before loading: the verifier knows it as a constant.
const volatile u32 POLICY_BYTES = 65536;

// The bytes at an offset, if they are all inside the block.
INLINE const void *at(const u8 *policy, u64 offset, u32 size)
{
	asm volatile("" : "+r"(offset)); // the checked register is the used one
	if (offset > POLICY_BYTES - size)
		return 0;
	return policy + offset;
}

// What a list of indexes says of a number: 0 for nothing. A broken list says so.
INLINE u32 indexed(const u8 *policy, const struct list *list, u32 number, u32 *broken)
{
	u32 place = number - list->first;
	if (place >= list->len)
		return 0;
	const u16 *index = at(policy, (u64)list->at + (u64)place * 2, 2);
	if (!index) {
		*broken = 1;
		return 0;
	}
	return *index;
}

INLINE const struct space *space_at(const u8 *policy, const struct header *h, u32 index)
{
	if (index >= h->spaces.len)
		return 0;
	return at(policy, (u64)h->spaces.at + (u64)index * sizeof(struct space), sizeof(struct space));
}

INLINE const struct port *port_at(const u8 *policy, const struct header *h, u32 index)
{
	if (index >= h->ports.len)
		return 0;
	return at(policy, (u64)h->ports.at + (u64)index * sizeof(struct port), sizeof(struct port));
}

INLINE const struct record *record_of(const u8 *policy, const struct space *s, u32 address, u32 *broken)
{
	u32 place = address - s->first;
	if (place >= s->len)
		return 0;
	u64 offset;
	if (s->paged) {
		const u32 *page = at(policy, (u64)s->at + (u64)(place / 64) * 4, 4);
		if (!page) {
			*broken = 1;
			return 0;
		}
		if (!*page)
			return 0;
		offset = (u64)*page + (place % 64) * sizeof(struct record);
	} else {
		offset = (u64)s->at + (u64)place * sizeof(struct record);
	}
	const struct record *record = at(policy, offset, sizeof(struct record));
	if (!record)
		*broken = 1;
	else if (!record->tag)
		return 0;
	return record;
}

INLINE u32 permits(const u8 *policy, const struct header *h, u32 space, u16 client, u16 provider,
		   u8 protocol, u16 port, u32 *broken)
{
	if (!h->permits_at)
		return 0;
	u64 key = ((u64)space + 1) | (u64)client << 32 | (u64)provider << 48;
	u64 service = ((u64)protocol << 16 | port) * 0x9e3779b97f4a7c15ull;
	u32 place = (((key ^ service) * 0xd6e8feb86659fd93ull) >> 32) & h->permits_mask;
	const struct bucket *bucket =
		at(policy, (u64)h->permits_at + (u64)place * sizeof(struct bucket), sizeof(struct bucket));
	if (!bucket) {
		*broken = 1;
		return 0;
	}
#pragma unroll
	for (int i = 0; i < 4; i++) {
		const struct permit *p = &bucket->permits[i];
		if (p->space == space + 1 && p->client == client && p->provider == provider &&
		    p->port == port && p->protocol == protocol)
			return 1;
	}
	return 0;
}
