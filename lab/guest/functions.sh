# What the machine of `cargo xtask hardware-test` can be asked for.

# Gives the first interface so many virtual functions, and waits until each has its driver: split N
split() {
  interface=$(ls -d /sys/class/net/eth0/device/) &&
    echo "$1" > "$interface/sriov_numvfs" || return 1
  for _ in $(seq 200); do
    [ "$(ls -d "$interface"/virtfn*/driver 2> /dev/null | wc -l)" = "$1" ] && return
    usleep 50000
  done
  echo "some virtual functions have no driver"
  return 1
}

# Makes the functions have the drivers that the lines say: hold LINE...
hold() {
  printf '%s\n' "$@" > /tmp/text
  bind / /tmp/text
}

# Says what drives a function: driver ADDRESS
driver() {
  if [ -e "/sys/bus/pci/devices/$1/driver" ]; then
    basename "$(readlink "/sys/bus/pci/devices/$1/driver")"
  else
    echo nothing
  fi
}
