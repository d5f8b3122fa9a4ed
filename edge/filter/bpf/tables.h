// SPDX-License-Identifier: MIT OR GPL-2.0
// One policy: a block of bytes, laid out as core/wire/README.md says.
// Reading is total: whatever points outside of the block is broken.
#pragma once

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
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
	u32 permits_at, permits_mask, permits_seed;
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
	u64 ceiling_bps;
	u32 class, rest[7];
};

struct permit {
	u32 space; // index + 1
	u16 client, provider, port;
	u8 protocol, rest[5];
};

struct bucket { struct permit permits[4]; };

// The size of the block, set before loading: the verifier knows it as a constant.
const volatile u32 POLICY_BYTES = 65536;

// A block and its size, read once for each packet. Whoever always asks for the same `step` of bytes,
// however few it needs, has one bound for all that it reads; with 0 each read has its own.
struct policy { const u8 *block; u64 bytes; u32 step; };

// Enough for everything in the block but buckets.
#define STEP 64

INLINE const struct header *head(const struct policy *p)
{
	return (const void *)p->block;
}

// The bytes at an offset, if they are all inside the block.
INLINE const void *at(const struct policy *p, u64 offset, u32 size)
{
	asm("" : "+r"(offset)); // the checked register is the used one
	if (offset > p->bytes - (p->step ? p->step : size))
		return 0;
	return p->block + offset;
}

// Offsets that no block has.
#define BROKEN (~0ull)
#define NOTHING (~0ull - 1)

// What a list of indexes says of a number: 0 for nothing. A broken list says so.
INLINE u32 indexed(const struct policy *policy, const struct list *list, u32 number, u32 *broken)
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

INLINE const struct space *space_at(const struct policy *policy, u32 index)
{
	const struct array *spaces = &head(policy)->spaces;
	if (index >= spaces->len)
		return 0;
	return at(policy, (u64)spaces->at + (u64)index * sizeof(struct space), sizeof(struct space));
}

INLINE const struct port *port_at(const struct policy *policy, u32 index)
{
	const struct array *ports = &head(policy)->ports;
	if (index >= ports->len)
		return 0;
	return at(policy, (u64)ports->at + (u64)index * sizeof(struct port), sizeof(struct port));
}

// The record of an address whose place is among those of a space with pages. Rarer than the other
// kind, and a call, so that the other stays short. (A pointer to the policy would keep it in memory.)
static __noinline u64 paged(const u8 *block, u32 lists, u32 place)
{
	struct policy p = { .block = block, .bytes = POLICY_BYTES };
	const u32 *list = at(&p, (u64)lists + (u64)(place / 65536) * 4, 4);
	if (!list)
		return BROKEN;
	if (!*list)
		return NOTHING;
	const u32 *page = at(&p, (u64)*list + (place / 64 % 1024) * 4, 4);
	if (!page)
		return BROKEN;
	return *page ? (u64)*page + (place % 64) * sizeof(struct record) : NOTHING;
}

// Where the record of an address is, if the space has room for it.
INLINE u64 place_of(const struct policy *policy, const struct space *s, u32 address, u32 pages)
{
	u32 place = address - s->first;
	if (place >= s->len)
		return NOTHING;
	if (pages)
		return paged(policy->block, s->at, place);
	return (u64)s->at + (u64)place * sizeof(struct record);
}

// The record of an address, of which the tag may be 0: then it is none. `pages` is what the space says.
INLINE const struct record *record_at(const struct policy *policy, const struct space *s, u32 address,
				      u32 pages)
{
	u64 offset = place_of(policy, s, address, pages);
	return offset == NOTHING ? 0 : at(policy, offset, sizeof(struct record));
}

INLINE const struct record *record_of(const struct policy *policy, const struct space *s, u32 address,
				     u32 *broken)
{
	u64 offset = place_of(policy, s, address, s->paged);
	if (offset == NOTHING)
		return 0;
	const struct record *record = at(policy, offset, sizeof(struct record));
	if (!record)
		*broken = 1;
	else if (!record->tag)
		return 0;
	return record;
}

INLINE u32 permits(const struct policy *policy, u32 space, u16 client, u16 provider, u8 protocol,
		   u16 port, u32 *broken)
{
	const struct header *h = head(policy);
	if (!h->permits_at)
		return 0;
	u64 key = ((u64)space + 1) | (u64)client << 32 | (u64)provider << 48;
	u64 service = ((u64)protocol << 16 | port) * 0x9e3779b97f4a7c15ull;
	u64 factor = 0xd6e8feb86659fd93ull + 2 * (u64)h->permits_seed;
	u32 place = (((key ^ service) * factor) >> 32) & h->permits_mask;
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
