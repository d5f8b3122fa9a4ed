// SPDX-License-Identifier: MIT OR GPL-2.0
// The filter in front of random frames: what it adds to a loop that only makes them.
// The world is the one of bench/src/filter: ENDPOINTS in tenants of 1,024 and jobs of 64, the first
// endpoint of each job here and each eight of the others behind the next tunnel endpoint.
#include "filter.bpf.c"

const volatile u32 JOBS = 16;     // among which frames are made
const volatile u32 FIRST_JOB = 0; // the first of them
const volatile u32 STRIDE = 1;    // and how far apart they are
const volatile u32 OUT = 0;       // where made frames go, when they go live

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} chance SEC(".maps");

// The peer of this table in the kernel: a hash of endpoints.
struct peer_key { u32 vni, address; };

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct peer_key);
	__type(value, struct record);
} hash SEC(".maps");

INLINE u32 make(struct xdp_md *ctx)
{
	u32 zero = 0;
	u64 *seed = bpf_map_lookup_elem(&chance, &zero);
	struct tunnelled *t = (void *)(long)ctx->data;
	if (!seed || (void *)(t + 1) > (void *)(long)ctx->data_end)
		return 0;
	u64 x = *seed + 0x9e3779b97f4a7c15ull;
	*seed = x;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	x ^= x >> 31;
	u32 job = FIRST_JOB + (u32)(((x >> 32) * JOBS) >> 32) * STRIDE;
	u32 member = 1 + ((x & 0xffff) * 63 >> 16);
	u32 tenant = job / 16, first = 0x0a000000 + job % 16 * 64;
	t->from = BE32(0xac100000 + (job * 64 + member) / 8 + 1);
	t->flags = 0x00000088 | (u32)BE16((u16)(job + 16)) << 16;
	t->vni = BE32((50001 + tenant) << 8);
	t->inner.from = BE32(first + member);
	t->inner.to = BE32(first);
	return 1;
}

SEC("xdp")
int empty(struct xdp_md *ctx)
{
	return XDP_DROP;
}

SEC("xdp")
int made(struct xdp_md *ctx)
{
	return make(ctx) ? XDP_DROP : XDP_ABORTED;
}

SEC("xdp.frags")
int made_and_judged(struct xdp_md *ctx)
{
	return make(ctx) ? from_uplink(ctx) : XDP_ABORTED;
}

// The same verdict without counters: what rates, bursts and counters add.
SEC("xdp.frags")
int made_and_looked_up(struct xdp_md *ctx)
{
	u32 slot, number;
	if (!make(ctx))
		return XDP_ABORTED;
	const u8 *block = in_force(the_gate());
	const struct tunnelled *t = (const void *)(long)ctx->data;
	if (!block || (const void *)(t + 1) > (const void *)(long)ctx->data_end)
		return XDP_ABORTED;
	return short_fabric(block, t, ctx->data_end - ctx->data, &slot, &number) == JOB ? XDP_PASS : XDP_ABORTED;
}

INLINE int by_hash(struct xdp_md *ctx)
{
	const struct tunnelled *t = (const void *)(long)ctx->data;
	struct service service;
	if ((const void *)(t + 1) > (const void *)(long)ctx->data_end ||
	    !is_ordinary(&t->inner, ctx->data_end - ctx->data - 50, &service))
		return XDP_ABORTED;
	struct peer_key from_key = { BE32(t->vni) >> 8, t->inner.from };
	struct peer_key to_key = { BE32(t->vni) >> 8, t->inner.to };
	const struct record *from = bpf_map_lookup_elem(&hash, &from_key);
	const struct record *to = bpf_map_lookup_elem(&hash, &to_key);
	if (!from || !to || from->tag != to->tag || from->vtep != BE32(t->from))
		return XDP_ABORTED;
	struct counts *c = counts_of(to->slot);
	if (c) {
		c->received_packets++;
		c->received_bytes += ctx->data_end - ctx->data;
	}
	return PASS;
}

SEC("xdp.frags")
int made_and_hashed(struct xdp_md *ctx)
{
	return make(ctx) ? by_hash(ctx) : XDP_ABORTED;
}

// Live: a frame is made and sent to the other end of a cable.
SEC("xdp")
int send(struct xdp_md *ctx)
{
	return make(ctx) ? bpf_redirect(OUT, 0) : XDP_ABORTED;
}

// At the other end, what an empty program reaches: it only counts.
SEC("xdp")
int counted(struct xdp_md *ctx)
{
	struct counts *c = counts_of(0);
	if (c)
		c->received_packets++;
	return XDP_DROP;
}
