# What the machine of `cargo xtask vrf-test` can be asked for.

# FRR's daemons want to be somebody else than root.
echo 'root:x:0:0:root:/:/bin/sh' > /etc/passwd
echo 'frr:x:101:101:frr:/:/bin/false' >> /etc/passwd
printf 'root:x:0:\nfrr:x:101:frr\nfrrvty:x:102:frr\n' > /etc/group
mkdir -p /etc/frr /run/netns /var/tmp /var/run
export PATH=/bin HOME=/
# The shell of busybox would take its own `ip` before any other.
ln -sf dash /bin/sh

lab=/run/bulkhead/lab
agents="$lab/documents --ca $lab/ca --state $lab/state"

# Raises the lab, and watches it. An emulated processor on a busy host may be late, so that it tries
# again.
raise() {
  for _ in 1 2 3 4 5; do
    bulkhead lab up --leaves 2 --spines 1 --tenants 2 --vrfs devices && break
  done
  [ -e $lab ] || return 1
  bulkhead watch $agents >> /tmp/watched 2>&1 < /dev/null &
}

# Says the words if whoever watches is told of a line with them: told WORDS
told() {
  for _ in $(seq 240); do
    grep -qF "$1" /tmp/watched && echo "$1" && return
    usleep 250000
  done
  tail -n 20 /tmp/watched
  return 1
}

# Does something on the first leaf: leaf WORDS
leaf() {
  bulkhead lab exec leaf-1 -- sh -c "$1"
}

# Does something on the first leaf in several steps, of which its agent sees nothing before the last:
# at_once WORDS
at_once() {
  agent=$(sed -n 's/^\([0-9]*\) .* agent leaf-1$/\1/p' $lab/processes | tail -n 1)
  kill -STOP "$agent"
  leaf "$1"
  kill -CONT "$agent"
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

# Waits until nothing is found in what the devices hold, and sends the plan then; what is said about
# it is that there is nothing to do.
mended() {
  for _ in $(seq 30); do
    if [ -z "$(held)" ]; then
      again
      return
    fi
    sleep 1
  done
  held | head -n 20
  tail -n 20 /tmp/watched
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
