// SPDX-License-Identifier: MIT OR GPL-2.0
// Counters, bursts, rates and dropped frames. Whatever is counted often has a line of its own for
// each CPU; the clock, which costs more than a verdict, is read once for each QUANTUM of bytes.
#pragma once
#include "rule.h"

#define QUANTUM 16384
#define LARGEST 65536 // bytes of a frame
#define CPUS 1024ull // at most
#define TENANTS 8192
#define PORTS 16384

// Slots of job counters for each CPU, set before loading.
const volatile u32 SLOTS = 4096;

// What one job sent and received on one CPU, and the bytes it may still send before it asks again.
struct counts {
	u64 sent_packets, sent_bytes, received_packets, received_bytes;
	s64 credit;
	u64 rest[3];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); // for its alignment: one job is one cache line
	__uint(max_entries, 4096); // slots times CPUs
	__type(key, u32);
	__type(value, struct counts);
} jobs SEC(".maps");

INLINE struct counts *counts_of(u32 slot)
{
	u32 index = bpf_get_smp_processor_id() * SLOTS + slot;
	return bpf_map_lookup_elem(&jobs, &index);
}

// Bytes in windows of 2^14 ns. The window's number and its bytes / 64 share a word, so that all
// CPUs add to one window and exactly one of them closes it.
struct burst {
	u64 window;
	u64 peak;
	u64 histogram[14]; // windows by the logarithm of their bytes; the first is below 2^15
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TENANTS + PORTS); // from the fabric by tenant, from workloads by port
	__type(key, u32);
	__type(value, struct burst);
} bursts SEC(".maps");

static __noinline u32 burst(u32 index, u32 bytes)
{
	struct burst *b = bpf_map_lookup_elem(&bursts, &index);
	if (!b)
		return 0;
	u64 number = (bpf_ktime_get_ns() >> 14) << 24, add = bytes >> 6, old = b->window;
	if (old >> 24 == number >> 24) {
		__sync_fetch_and_add(&b->window, add);
		return 0;
	}
	if (__sync_val_compare_and_swap(&b->window, old, number | add) != old) {
		__sync_fetch_and_add(&b->window, add);
		return 0;
	}
	u64 closed = (old & 0xffffff) << 6;
	if (closed > b->peak)
		b->peak = closed;
	u32 place = 0;
#pragma unroll
	for (u32 i = 15; i < 28; i++)
		place += closed >> i ? 1 : 0;
	if (place < 14)
		__sync_fetch_and_add(&b->histogram[place], 1);
	return 0;
}

// The tenant's number is read where it is needed: once for each QUANTUM.
INLINE void received(u32 slot, const u32 *number, u64 len)
{
	struct counts *c = counts_of(slot);
	if (!c)
		return;
	u64 old = c->received_bytes;
	c->received_packets++;
	c->received_bytes = old + len;
	if ((old ^ (old + len)) / QUANTUM && *number < TENANTS)
		burst(*number, QUANTUM);
}

// Token buckets, each one word: the time, in sixteenths of a nanosecond, at which all that was
// taken will have been earned. It lies at most a burst before now: a millisecond, or longer than the
// queue of an uplink where there is one, so that what is over a rate for a moment waits there.
struct bucket_words { u64 ceiling, guarantee; u64 rest[6]; };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TENANTS + 4096); // tenant 0 is the link; then the slots of jobs
	__type(key, u32);
	__type(value, struct bucket_words);
} buckets SEC(".maps");

INLINE u64 cost(u64 bytes, u64 rate_bps)
{
	return bytes * 128000000000ull / rate_bps;
}

// Whether more was taken than is earned. What is further ahead than all CPUs together can have taken
// was taken at a lower rate, perhaps by the job before in this slot: nobody has to wait for that.
INLINE u32 is_spent(u64 word, u64 now, u64 rate_bps)
{
	return word > now && word - now <= cost((QUANTUM + LARGEST) * CPUS, rate_bps);
}

INLINE void take(u64 *word, u64 now, u64 burst, u64 bytes, u64 rate_bps)
{
	u64 old = *word, least = now - burst, taken = cost(bytes, rate_bps);
	u64 base = old < least || (old > now && !is_spent(old, now, rate_bps)) ? least : old;
	if (__sync_val_compare_and_swap(word, old, base + taken) != old)
		__sync_fetch_and_add(word, taken);
}

// How many bytes are taken at once: about a tenth of a millisecond of the lowest rate.
INLINE u64 quantum(u64 a_bps, u64 b_bps, u64 c_bps)
{
	u64 least = a_bps;
	if (b_bps && (!least || b_bps < least))
		least = b_bps;
	if (c_bps && (!least || c_bps < least))
		least = c_bps;
	u64 bytes = least >> 16;
	return bytes < 1536 ? 1536 : bytes > QUANTUM ? QUANTUM : bytes;
}

// Takes the next bytes out of the buckets. What is guaranteed passes whatever the link says, what is
// more only while the link has something left; the ceilings of tenant and job hold for both.
static __noinline u32 refill(struct counts *c, const struct port *port, const struct space *space,
			     u64 link_bps, u64 burst)
{
	u32 number = space->number, slot = TENANTS + port->slot, zero = 0;
	struct bucket_words *tenant = bpf_map_lookup_elem(&buckets, &number);
	struct bucket_words *job = bpf_map_lookup_elem(&buckets, &slot);
	struct bucket_words *link = bpf_map_lookup_elem(&buckets, &zero);
	if (!tenant || !job || !link || number >= TENANTS)
		return 0;
	u64 now = bpf_ktime_get_ns() << 4, guarantee = space->guarantee_bps;
	u64 ceiling = space->ceiling_bps, of_job = port->ceiling_bps;
	u64 bytes = quantum(ceiling, of_job, link_bps) - c->credit;
	if ((ceiling && is_spent(tenant->ceiling, now, ceiling)) ||
	    (of_job && is_spent(job->ceiling, now, of_job)))
		return 0;
	u32 guaranteed = guarantee && !is_spent(tenant->guarantee, now, guarantee);
	if (link_bps && !guaranteed && is_spent(link->ceiling, now, link_bps))
		return 0;
	if (ceiling)
		take(&tenant->ceiling, now, burst, bytes, ceiling);
	if (of_job)
		take(&job->ceiling, now, burst, bytes, of_job);
	if (guaranteed)
		take(&tenant->guarantee, now, burst, bytes, guarantee);
	if (link_bps)
		take(&link->ceiling, now, burst, bytes, link_bps);
	c->credit += bytes;
	return 1;
}

// Whether a workload may send these bytes now.
INLINE u32 sends(const struct port *port, const struct space *space, u64 link_bps, u64 burst_ns,
		 u32 len)
{
	struct counts *c = counts_of(port->slot);
	if (!c)
		return 0;
	if (space->ceiling_bps || port->ceiling_bps || link_bps) {
		if (c->credit <= 0 && !refill(c, port, space, link_bps, burst_ns << 4))
			return 0;
		c->credit -= len;
	}
	u64 old = c->sent_bytes;
	c->sent_packets++;
	c->sent_bytes = old + len;
	if ((old ^ (old + len)) / QUANTUM && port->burst < PORTS)
		burst(TENANTS + port->burst, QUANTUM);
	return 1;
}

// Everything that is not a job's traffic: drops, and what passes beside the jobs.
struct tally { u64 packets, bytes; };
struct tally_key { u16 tag; u8 reason, hook; };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 3 * 64);
	__type(key, u32);
	__type(value, struct tally);
} reasons SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct tally_key);
	__type(value, struct tally);
} tallies SEC(".maps");

// A dropped frame, for people.
struct event {
	u64 time_ns;
	u32 interface, len, seen, number, vni, missed;
	u16 source, destination, mark;
	u8 hook, reason;
	u8 bytes[SEEN];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

// How many drops of one origin were told, on each CPU: so many in about a tenth of a second, and so
// many before somebody reads them. A tenant that floods the filter does not flood the list of events,
// and leaves room in it for others even if nobody reads.
#define TOLD 32
#define UNREAD 64
#define ORIGINS 4096
struct budget { u64 window, read; u32 told, unread, missed, rest; };

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ORIGINS);
	__type(key, u32);
	__type(value, struct budget);
} budgets SEC(".maps");

INLINE u32 may_tell(struct budget *budget)
{
	u64 window = bpf_ktime_get_coarse_ns() >> 27;
	u64 read = bpf_ringbuf_query(&events, BPF_RB_CONS_POS);
	if (budget->window != window) {
		budget->window = window;
		budget->told = 0;
	}
	if (budget->read != read) {
		budget->read = read;
		budget->unread = 0;
	}
	return budget->told < TOLD && budget->unread < UNREAD;
}

static __noinline u32 tell(struct frame *f, u32 reason)
{
	u32 tag = f->source ? f->source : f->destination;
	u32 place = (tag ? tag : f->interface) % ORIGINS;
	struct budget *budget = bpf_map_lookup_elem(&budgets, &place);
	if (!budget)
		return 0;
	struct event *e = may_tell(budget) ? bpf_ringbuf_reserve(&events, sizeof(*e), 0) : 0;
	if (!e) {
		budget->missed++;
		return 0;
	}
	budget->told++;
	budget->unread++;
	e->time_ns = bpf_ktime_get_ns();
	e->interface = f->interface;
	e->len = f->len;
	e->seen = f->len < SEEN ? f->len : SEEN;
	e->number = f->number;
	e->vni = f->vni;
	e->missed = budget->missed;
	budget->missed = 0;
	e->source = f->source;
	e->destination = f->destination;
	e->mark = f->mark;
	e->hook = f->hook;
	e->reason = reason;
	__builtin_memcpy(e->bytes, f->b, SEEN);
	bpf_ringbuf_submit(e, 0);
	return 0;
}

INLINE void add(struct tally *tally, u32 len)
{
	if (tally) {
		tally->packets++;
		tally->bytes += len;
	}
}

// Counts a verdict that is not a job's traffic.
static __noinline u32 tally(struct frame *f, u32 reason)
{
	u32 index = (f->hook & 3) * 64 + (reason & 63);
	add(bpf_map_lookup_elem(&reasons, &index), f->len);
	if (reason < CLOSED)
		return 0;
	struct tally_key key = {
		.tag = f->source ? f->source : f->destination, .reason = reason, .hook = f->hook,
	};
	struct tally *known = bpf_map_lookup_elem(&tallies, &key);
	if (known) {
		add(known, f->len);
	} else {
		struct tally first = { .packets = 1, .bytes = f->len };
		bpf_map_update_elem(&tallies, &key, &first, BPF_ANY);
	}
	tell(f, reason);
	return 0;
}
