// SPDX-License-Identifier: MIT OR GPL-2.0
// Frames that are sent to see what becomes of them, and those that hear them arrive. Neither program
// is attached to an interface, and both are gone with whoever loaded them.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define WORD 0x9f6e3b52c1d8a407ull // what a mark begins with, in the order of the wire
#define MARK 24			   // the last bytes of a probe
#define OUTGOING 4		   // PACKET_OUTGOING of linux/if_packet.h

// Run live by hand on a frame: the kernel then takes it for one that a port received, and whatever
// stands at that port judges it.
SEC("xdp")
int enter(struct xdp_md *ctx)
{
	return XDP_PASS;
}

// Lets a packet socket hear probes on their way out, and nothing of what tenants say.
SEC("socket")
int marked(struct __sk_buff *skb)
{
	unsigned long long word = 0;
	unsigned int len = skb->len;
	if (skb->pkt_type != OUTGOING || len < MARK ||
	    bpf_skb_load_bytes(skb, len - MARK, &word, sizeof(word)))
		return 0;
	return __builtin_bswap64(word) == WORD ? len : 0;
}

char _license[] SEC("license") = "Dual MIT/GPL";
