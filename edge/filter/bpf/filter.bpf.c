// SPDX-License-Identifier: MIT OR GPL-2.0
// Judges every packet by tenant and job. The rule is core/wire/README.md.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include "tables.h"
#include "rule.h"
#include "short.h"
#include "account.h"

// What happens to a frame of the fabric that may pass; a bench counts and drops it.
const volatile u32 PASS = XDP_PASS;
// Whether every verdict is written down for whoever compares it with the reference.
const volatile u32 TRACED = 0;

// The policy in force: one pointer to one immutable block.
struct block {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); // for its alignment: a record never spans two cache lines
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 65536);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__array(values, struct block);
} policy SEC(".maps");

// Whether the gate is open: while the lease lasts. The kernel's own timer closes it: whoever renewed
// the lease may be dead.
volatile u64 open;

struct gate {
	u64 until_ns, lapses, link_bps, burst_ns;
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct gate);
} gate SEC(".maps");

struct trace { u32 reason, source, destination, count; };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); // read without a system call
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct trace);
} trace SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct frame);
} frames SEC(".maps");

INLINE struct gate *the_gate(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&gate, &zero);
}

INLINE struct policy in_force(u32 step)
{
	struct policy p = { .block = 0, .bytes = POLICY_BYTES, .step = step };
	u32 zero = 0;
	if (!open)
		return p;
	void *block = bpf_map_lookup_elem(&policy, &zero);
	if (block)
		p.block = bpf_map_lookup_elem(block, &zero);
	return p;
}

// In a trial, the verdict is written down: or that the short way said yes where it is not.
INLINE void told(const struct frame *f, u32 quick, u32 reason)
{
	u32 zero = 0;
	if (!TRACED)
		return;
	struct trace *t = bpf_map_lookup_elem(&trace, &zero);
	if (t) {
		t->reason = quick != GO_ON && quick != reason ? 1000 + quick : reason;
		t->source = f->source;
		t->destination = f->destination;
		t->count++;
	}
}

INLINE struct frame *blank(u32 hook, u32 interface, u32 len)
{
	u32 zero = 0;
	struct frame *f = bpf_map_lookup_elem(&frames, &zero);
	if (!f)
		return 0;
	f->hook = hook;
	f->interface = interface;
	f->len = len;
	f->mark = f->vlan_beside = 0;
	f->source = f->destination = f->slot = f->number = f->vni = 0;
	return f;
}

// How many bytes of a frame are looked at, in a form the verifier follows; 0 if there are none.
INLINE u32 seen_of(u32 len)
{
	u32 seen = len < SEEN ? len : SEEN;
	asm volatile("" : "+r"(seen)); // the checked register is the used one
	if (seen > SEEN)
		return 0;
	asm volatile("" : "+r"(seen)); // one range for both ends, with a sum, is too much for Linux 6.12
	return seen;
}

// The whole rule at each hook, for a frame that the short way did not know. Not static: the verifier
// looks at such a function once, and not again for every state in which it is called.
__noinline int fabric_rule(struct frame *f)
{
	struct policy p = in_force(0);
	return f ? from_fabric(&p, f) : CLOSED;
}

__noinline int workload_rule(struct frame *f)
{
	struct policy p = in_force(0);
	return f ? from_workload(&p, f) : CLOSED;
}

__noinline int local_rule(struct frame *f)
{
	struct policy p = in_force(0);
	return f ? to_workload(&p, f) : CLOSED;
}

// What the short way did not know. Rarer, and a call, so that the short way stays short.
static __noinline int by_rule(struct xdp_md *ctx, u32 quick)
{
	u32 len = bpf_xdp_get_buff_len(ctx);
	struct frame *f = blank(FABRIC, ctx->ingress_ifindex, len);
	if (!f)
		return XDP_DROP;
	u32 seen = seen_of(len);
	if (!seen || bpf_xdp_load_bytes(ctx, 0, f->b, seen))
		return XDP_DROP;
	u32 reason = fabric_rule(f);
	told(f, quick, reason);
	if (reason <= PERMIT) {
		received(f->slot, &f->number, len);
		return PASS;
	}
	tally(f, reason);
	return reason < CLOSED ? PASS : XDP_DROP;
}

// In a trial both ways are gone, and must agree.
static __noinline int both_ways(struct xdp_md *ctx)
{
	struct policy p = in_force(STEP);
	const u8 *t = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const struct space *space;
	u32 slot, quick = GO_ON;
	if (p.block && t + TUNNELLED <= end)
		quick = short_fabric(&p, t, end - t, &slot, &space);
	return by_rule(ctx, quick);
}

INLINE int from_uplink(struct xdp_md *ctx)
{
	if (TRACED)
		return both_ways(ctx);
	// Out of a register: there are few, and only the rule needs it again.
	struct xdp_md *volatile kept = ctx;
	struct policy p = in_force(STEP);
	const u8 *t = (const void *)(long)ctx->data, *end = (const void *)(long)ctx->data_end;
	const struct space *space;
	u32 slot;
	if (p.block && t + TUNNELLED <= end && short_fabric(&p, t, end - t, &slot, &space) != GO_ON) {
		received(slot, &space->number, end - t);
		return PASS;
	}
	return by_rule(kept, GO_ON);
}

SEC("xdp.frags")
int fabric(struct xdp_md *ctx)
{
	return from_uplink(ctx);
}

// In a trial there is no interface; its number comes beside the frame.
INLINE u32 interface_of(struct __sk_buff *skb)
{
	u32 interface = skb->ifindex;
	asm volatile("" : "+r"(interface)); // else the two reads become one of a computed address
	return TRACED ? skb->priority : interface;
}

INLINE struct frame *copied(struct __sk_buff *skb, u32 hook)
{
	struct frame *f = blank(hook, interface_of(skb), skb->len);
	if (!f)
		return 0;
	u32 seen = seen_of(skb->len);
	if (!seen || bpf_skb_load_bytes(skb, 0, f->b, seen))
		return 0;
	f->vlan_beside = skb->vlan_present;
	return f;
}

// The tag goes beside the frame, where the tunnel device looks for it. Written by hand: the compiler
// would keep a pointer to the field, and the verifier wants the field's offset in the instruction.
INLINE void stamp(struct __sk_buff *skb, u32 tag)
{
	asm volatile("*(u32 *)(%[skb] + %[at]) = %[tag]"
		     :
		     : [skb] "r"(skb), [at] "i"(__builtin_offsetof(struct __sk_buff, mark)), [tag] "r"(tag)
		     : "memory");
}

// The traffic class is the plan's to say, never the workload's. Of a lossless job RoCEv2 is in the
// lossless class and its congestion notices above it; of the others everything is in one class.
INLINE void classify(struct __sk_buff *skb, u32 class, u32 six, u32 first, u32 second, u32 roce,
		     u32 opcode)
{
	u32 dscp = 0, priority = 0;
	if (class == 1) {
		dscp = 46;
		priority = 5;
	} else if (class == 2) {
		dscp = 8;
		priority = 1;
	} else if (roce) {
		dscp = opcode == 0x81 ? 48 : 26;
		priority = opcode == 0x81 ? 6 : 3;
	}
	skb->priority = priority;
	u32 old = six ? ((first & 15) << 4 | second >> 4) : second;
	u32 new = dscp << 2 | (old & 3); // the congestion bits are the ends' own
	if (old == new)
		return;
	if (six) {
		u8 bytes[2] = { (first & 0xf0) | new >> 4, (second & 15) | (new & 15) << 4 };
		bpf_skb_store_bytes(skb, 14, bytes, 2, 0);
	} else {
		u8 byte = new;
		bpf_l3_csum_replace(skb, 24, __builtin_bswap16(first << 8 | old),
				    __builtin_bswap16(first << 8 | new), 2);
		bpf_skb_store_bytes(skb, 15, &byte, 1, 0);
	}
}

// The port of an interface and its space, if there is nothing to say against either.
INLINE u32 seated(const struct policy *p, u32 interface, const struct port **port,
		  const struct space **space)
{
	if (!p->block || head(p)->magic != MAGIC || seat(p, interface, port) != GO_ON)
		return 0;
	*space = space_at(p, (*port)->space);
	return *space != 0;
}

SEC("classifier")
int workload(struct __sk_buff *skb)
{
	struct gate *g = the_gate();
	struct policy policy = in_force(0);
	const u8 *p = (const void *)(long)skb->data;
	const void *end = (const void *)(long)skb->data_end;
	const struct port *port = 0;
	const struct space *space = 0;
	u32 quick = GO_ON, len = skb->len;
	stamp(skb, 0);
	if (g && !skb->vlan_present && seated(&policy, interface_of(skb), &port, &space) &&
	    (const void *)(p + PLAIN) <= end) {
		quick = short_port(&policy, p, len, 0, 1, port, space);
		if (quick != GO_ON && !TRACED) {
			if (sends(port, space, g->link_bps, g->burst_ns, len)) {
				u32 tag = port->tag;
				classify(skb, port->class, 0, p[14], p[15], is_roce(p), p[42]);
				stamp(skb, tag);
				return TC_ACT_UNSPEC;
			}
			quick = GO_ON;
		}
	}
	struct frame *f = copied(skb, WORKLOAD);
	if (!f)
		return TC_ACT_SHOT;
	u32 reason = workload_rule(f);
	told(f, quick, reason);
	if (reason <= PERMIT &&
	    (!port || !space || !g || !sends(port, space, g->link_bps, g->burst_ns, len)))
		reason = RATE;
	if (reason > PERMIT)
		tally(f, reason);
	if (reason >= CLOSED)
		return TC_ACT_SHOT;
	if (reason <= PERMIT && port) {
		u32 six = f->b[12] == 0x86, at = six ? 54 : 34;
		u32 roce = f->b[six ? 20 : 23] == 17 && f->b[at + 2] == 0x12 && f->b[at + 3] == 0xb7;
		classify(skb, port->class, six, f->b[14], f->b[15], roce, f->b[at + 8]);
	}
	stamp(skb, f->source);
	return TC_ACT_UNSPEC;
}

SEC("classifier")
int local(struct __sk_buff *skb)
{
	struct policy policy = in_force(0);
	const u8 *p = (const void *)(long)skb->data;
	const void *end = (const void *)(long)skb->data_end;
	const struct port *port = 0;
	const struct space *space = 0;
	u32 quick = GO_ON, tag = skb->mark & 0xffff;
	if (!skb->vlan_present && tag && seated(&policy, interface_of(skb), &port, &space) &&
	    (const void *)(p + PLAIN) <= end) {
		quick = short_port(&policy, p, skb->len, tag, 0, port, space);
		if (quick != GO_ON && !TRACED)
			return TC_ACT_UNSPEC;
	}
	struct frame *f = copied(skb, LOCAL);
	if (!f)
		return TC_ACT_SHOT;
	f->mark = tag;
	u32 reason = local_rule(f);
	told(f, quick, reason);
	if (reason > PERMIT)
		tally(f, reason);
	return reason < CLOSED ? TC_ACT_UNSPEC : TC_ACT_SHOT;
}

// The handle of the queues of an uplink, and the class of tunnelled frames that no tenant here owns.
#define QUEUES (0xb001 << 16)
#define REST 0xfffe

// The number of the tenant whose VNI this is, as the policy in force has it.
INLINE u32 tenant_of(u32 vni)
{
	struct policy p = in_force(0);
	u32 broken = 0;
	if (!p.block || head(&p)->magic != MAGIC)
		return REST;
	u32 index = indexed(&p, &head(&p)->vnis, vni, &broken);
	const struct space *space = index ? space_at(&p, index - 1) : 0;
	return space && space->number ? space->number : REST;
}

// Says in which tenant's queue a frame waits that leaves through an uplink. The VNI tells it: what a
// workload's port puts beside a frame is lost where the frame is routed, or changes its namespace. What
// is not tunnelled is the device's own, and waits for nobody.
SEC("classifier")
int queue(struct __sk_buff *skb)
{
	u8 b[50]; // Ethernet, IPv4 without options, UDP and VXLAN
	skb->priority = QUEUES;
	if (bpf_skb_load_bytes(skb, 0, b, sizeof(b)) || b[12] != 0x08 || b[13] || b[14] != 0x45 ||
	    b[23] != 17)
		return TC_ACT_UNSPEC;
	if ((b[20] & 0x1f) || b[21]) // the rest of a datagram, which begins with no header
		skb->priority = QUEUES | REST;
	else if (b[36] == 4789 >> 8 && b[37] == (4789 & 0xff))
		skb->priority = QUEUES | (tenant_of(b[46] << 16 | b[47] << 8 | b[48]) & 0xffff);
	return TC_ACT_UNSPEC;
}

static int lease_ends(void *map, u32 *key, struct gate *g)
{
	if (bpf_ktime_get_ns() >= g->until_ns && open) {
		open = 0;
		g->lapses++;
	}
	return 0;
}

// Run by whoever holds the lease, never by a packet. Its arguments, at the start of the frame: for how
// many nanoseconds the gate stays open, or until when. What has ended already is closed.
struct wish { u64 for_ns, until_ns; };

SEC("xdp")
int renew(struct xdp_md *ctx)
{
	const struct wish *wish = (const void *)(long)ctx->data;
	struct gate *g = the_gate();
	if (!g || (const void *)(wish + 1) > (const void *)(long)ctx->data_end)
		return XDP_ABORTED;
	u64 now = bpf_ktime_get_ns(), until = wish->until_ns ? wish->until_ns : now + wish->for_ns;
	if (until <= now) {
		open = 0;
		return XDP_PASS;
	}
	int err = bpf_timer_init(&g->timer, &gate, 1); // CLOCK_MONOTONIC
	if (err && err != -16) // it stands already
		return XDP_ABORTED;
	g->until_ns = until;
	if (bpf_timer_set_callback(&g->timer, lease_ends) || bpf_timer_start(&g->timer, until - now, 0))
		return XDP_ABORTED;
	open = 1;
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual MIT/GPL";
