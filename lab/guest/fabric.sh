# What the machine of `cargo xtask vrf-test` can be asked for.

# FRR's daemons want to be somebody else than root.
echo 'root:x:0:0:root:/:/bin/sh' > /etc/passwd
echo 'frr:x:101:101:frr:/:/bin/false' >> /etc/passwd
printf 'root:x:0:\nfrr:x:101:frr\nfrrvty:x:102:frr\n' > /etc/group
mkdir -p /etc/frr /run/netns /var/tmp /var/run
export PATH=/bin HOME=/

lab=/run/bulkhead/lab
agents="$lab/documents --ca $lab/ca --state $lab/state"

# Raises the lab. An emulated processor on a busy host may be late, so that it tries again.
raise() {
  for _ in 1 2 3 4 5; do
    bulkhead lab up --leaves 2 --spines 1 --tenants 2 --vrfs devices && return
  done
  return 1
}

# Does something on the first leaf: leaf WORDS
leaf() {
  bulkhead lab exec leaf-1 -- sh -c "$1"
}

# Says what the VRF devices of the first leaf are, and their tables.
devices() {
  leaf 'ip -d -o link show type vrf' | sed 's/^[0-9]*: \(t[0-9]*\):.* vrf table \([0-9]*\).*/\1 \2/'
}

# Says what is found in what the devices hold, and nothing if that is proved.
held() {
  bulkhead verify $agents --held --from agents > /tmp/held 2>&1 || cat /tmp/held
}

# Sends the same plan again.
again() {
  bulkhead apply $agents --to agents 2>&1 | tail -n 1
}

# Sends the plan until nothing is found in what the devices hold; says what is, if it stays.
mend() {
  for _ in 1 2 3; do
    again > /tmp/again
    [ -z "$(held)" ] && return
  done
  cat /tmp/again
  held | head -n 20
  return 1
}

# Tries packets, and says what came of it; the whole of it goes to the log.
packets() {
  bulkhead test connectivity --lab lab > /tmp/packets 2>&1
  cat /tmp/packets > /dev/console
  tail -n 1 /tmp/packets
}

# Counts what is left of the lab.
left() {
  ls /run/netns /run/bulkhead | grep -vc ':$\|^$'
}
