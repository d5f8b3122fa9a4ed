#!/bin/busybox sh
# The first program of a machine of `cargo xtask roce-test`, `hardware-test` or `vrf-test`: does what it
# is asked for on its second serial line, one line a wish, and answers with what was said and a
# line `:exit <code>`. The wishes are the functions of /wishes.sh. The first serial line is the
# kernel's, for its log.

/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp

# Their names begin with their place in the order in which they need each other.
for module in /modules/*.ko; do
  insmod "$module"
done

. /wishes.sh

ip link set lo up
if [ -e /sys/class/net/eth0 ]; then
  # Only the two addresses of an endpoint, at once: the fabric knows no others.
  echo 1 > /proc/sys/net/ipv6/conf/eth0/addr_gen_mode
  echo 0 > /proc/sys/net/ipv6/conf/eth0/accept_dad
  echo 0 > /proc/sys/net/ipv6/conf/eth0/accept_ra
fi

stty -F /dev/ttyS1 raw -echo
exec 3<>/dev/ttyS1
echo ":exit 0" >&3
while read -r wish <&3; do
  eval "$wish" > /tmp/said 2>&1 < /dev/null
  code=$?
  cat /tmp/said >&3
  printf '\n:exit %s\n' "$code" >&3
done
poweroff -f
