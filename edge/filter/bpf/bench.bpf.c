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

// Stored as they are loaded: what is stored in pieces cannot be loaded at once for a while, and the
// filter would be charged for it. Frames of a wire are whole long before they are judged.
#define PUT32(p, o, word) (*(u32 *)((u8 *)(p) + (o)) = (word))
#define PUT64(p, o, low, high) (*(u64 *)((u8 *)(p) + (o)) = (u64)(low) | (u64)(high) << 32)

INLINE u32 make(struct xdp_md *ctx)
{
	u32 zero = 0;
	u64 *seed = bpf_map_lookup_elem(&chance, &zero);
	u8 *t = (void *)(long)ctx->data;
	if (!seed || (void *)(t + TUNNELLED) > (void *)(long)ctx->data_end)
		return 0;
	u64 x = *seed + 0x9e3779b97f4a7c15ull;
	*seed = x;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	x ^= x >> 31;
	u32 job = FIRST_JOB + (u32)(((x >> 32) * JOBS) >> 32) * STRIDE;
	u32 member = 1 + ((x & 0xffff) * 63 >> 16);
	u32 tenant = job / 16, first = 0x0a000000 + job % 16 * 64;
	PUT32(t, 26, BE32(0xac100000 + (job * 64 + member) / 8 + 1));
	PUT64(t, 42, 0x00000088 | (u32)BE16(job + 16) << 16, BE32((50001 + tenant) << 8));
	PUT64(t, 76, BE32(first + member), BE32(first));
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
	const struct space *space;
	u32 slot;
	if (!make(ctx))
		return XDP_ABORTED;
	struct policy p = in_force(STEP);
	const u8 *t = (const void *)(long)ctx->data;
	if (!p.block || (const void *)(t + TUNNELLED) > (const void *)(long)ctx->data_end)
		return XDP_ABORTED;
	u32 said = short_fabric(&p, t, ctx->data_end - ctx->data, &slot, &space);
	return said == JOB ? XDP_PASS : XDP_ABORTED;
}

INLINE int by_hash(struct xdp_md *ctx)
{
	const u8 *t = (const void *)(long)ctx->data;
	if ((const void *)(t + TUNNELLED) > (const void *)(long)ctx->data_end ||
	    !is_ordinary(t + 50, 50, ctx->data_end - ctx->data))
		return XDP_ABORTED;
	u64 vxlan = AT64(t, 42), ends = AT64(t, 76);
	struct peer_key from_key = { BE32(vxlan >> 32) >> 8, (u32)ends };
	struct peer_key to_key = { BE32(vxlan >> 32) >> 8, (u32)(ends >> 32) };
	const struct record *from = bpf_map_lookup_elem(&hash, &from_key);
	const struct record *to = bpf_map_lookup_elem(&hash, &to_key);
	if (!from || !to || from->tag != to->tag || from->vtep != BE32(AT32(t, 26)))
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

// The checksum of an IPv4 header without options.
INLINE void sum_up(u16 *header)
{
	u32 sum = 0;
	header[5] = 0;
#pragma unroll
	for (u32 i = 0; i < 10; i++)
		sum += header[i];
	sum = (sum & 0xffff) + (sum >> 16);
	header[5] = ~(sum + (sum >> 16));
}

// Live: a frame is made and sent to the other end of a cable. Whoever receives it may look closely.
SEC("xdp")
int send(struct xdp_md *ctx)
{
	if (!make(ctx))
		return XDP_ABORTED;
	u8 *frame = (void *)(long)ctx->data;
	if (frame + TUNNELLED > (u8 *)(long)ctx->data_end)
		return XDP_ABORTED;
	sum_up((void *)(frame + 14));
	sum_up((void *)(frame + 64));
	return bpf_redirect(OUT, 0);
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

// The same with a look at the headers: what it takes to bring them here from where they were made.
SEC("xdp")
int looked_at(struct xdp_md *ctx)
{
	const u8 *t = (const void *)(long)ctx->data;
	struct counts *c = counts_of(0);
	if (c && (const void *)(t + TUNNELLED) <= (const void *)(long)ctx->data_end) {
		c->received_packets++;
		c->received_bytes += AT64(t, 42) ^ AT64(t, 76);
	}
	return XDP_DROP;
}

// A frame is sent as it was given.
SEC("xdp")
int relay(struct xdp_md *ctx)
{
	return bpf_redirect(OUT, 0);
}

// What leaves a frame to whatever else judges it.
SEC("xdp")
int passed(struct xdp_md *ctx)
{
	return XDP_PASS;
}
