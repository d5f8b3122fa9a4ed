# What a machine can be asked for. eth0 is its place in the fabric, and the only way for RDMA; eth1
# is a network of its own, over which the two sides of a tool agree on what they will do.

# Puts on the clothes of an endpoint: dress MAC IPV4/LEN GATEWAY IPV6/LEN GATEWAY
dress() {
  rdma link delete rxe0 2> /dev/null
  ip link set eth0 down
  ip address flush dev eth0
  # With room for the largest packets of RoCE, 4,096 bytes, and below what a tunnel of the lab takes.
  ip link set eth0 address "$1" mtu 8000 &&
    ip link set eth0 up &&
    ip address add "$2" dev eth0 &&
    ip route add default via "$3" &&
    ip address add "$4" dev eth0 &&
    ip -6 route add default via "$5" dev eth0 &&
    rdma link add rxe0 type rxe netdev eth0
}

# Asks the network for the way to an address, whether or not it answers: the RDMA stack fails on a
# way over IPv6 that nobody has asked for before.
meet() {
  ping -c 1 -W 1 "$1" > /dev/null || true
}

# Says how many packets the RDMA device has sent and received.
count() {
  cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts \
    /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts
}

# Begins to serve and says so when it can be called: serve TOOL GID
serve() {
  # Whoever is alone for longer than this has been forgotten.
  tool 150 "$1" "$2" > /tmp/served 2>&1 &
  server=$!
  until netstat -ltn | grep -q ':18515 '; do
    if ! kill -0 $server; then
      cat /tmp/served
      return 1
    fi
    usleep 50000
  done
}

# Calls the one that serves, at most for so long: call SECONDS TOOL GID ADDRESS
call() {
  (tool "$1" "$2" "$3" "$4")
}

# Says what the server said, and ends as it did; `served now` does not wait for its end.
served() {
  if [ "$1" = now ]; then
    kill $server 2> /dev/null
  fi
  wait $server
  code=$?
  cat /tmp/served
  return $code
}

# A tool over a GID of this machine: tool SECONDS NAME GID [ADDRESS OF THE SERVER]
tool() {
  place=$(place "$3") || return 1
  case $2 in
    pingpong) set -- "$1" ibv_rc_pingpong -d rxe0 -g "$place" -n 200 $4 ;;
    write) set -- "$1" ib_write_bw -d rxe0 -x "$place" -s 65536 -n 100 -F $4 ;;
  esac
  exec timeout "$@"
}

# Where a GID stands in the device's list; a new address gets there a moment later.
place() {
  for _ in $(seq 100); do
    found=$(grep -ls "$1" /sys/class/infiniband/rxe0/ports/1/gids/?) && break
    usleep 50000
  done
  [ -n "$found" ] && echo "${found##*/}"
}
