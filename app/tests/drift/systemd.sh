#!/bin/sh
# An agent of the lab as systemd starts it: the program stands behind a systemd that is the first
# process of its own process namespace, has its own control groups, and knows one unit.
#
# The mounts that the agent makes must be seen by FRR, which is outside: mounts stay shared with the
# device's, except where systemd gets its own.
set -e
if [ "$1" = agent ]; then
  [ -e /sys/fs/cgroup/cgroup.procs ] || mount -t cgroup2 cgroup2 /sys/fs/cgroup
  group=/sys/fs/cgroup/@GROUP@-$$
  mkdir $group
  echo $$ > $group/cgroup.procs
  mount --make-rshared /
  # systemd lays an empty folder over a /run that is no mount.
  mountpoint -q /run || mount --rbind /run /run
  exec unshare --pid --fork --kill-child --mount --propagation unchanged --uts --cgroup \
    "$0" inside "$@"
fi
shift
mount --make-private /proc
mount -t proc proc /proc
mount --make-private /sys/fs/cgroup
umount /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount --bind /etc/systemd /etc/systemd
mount --make-private /etc/systemd
mount -t tmpfs tmpfs /etc/systemd
mkdir /etc/systemd/system
printf '[Manager]\nLogTarget=null\nDefaultStandardOutput=inherit\nDefaultStandardError=inherit\n' \
  > /etc/systemd/system.conf
# As it is installed, but for where things are here; what it comes after is no unit here.
sed -e "s|^ExecStart=.*|ExecStart=@PROGRAM@ $*|" -e '/^After=/d' -e '/^Wants=/d' \
  -e 's|^\[Unit\]|&\nDefaultDependencies=no|' '@UNIT@' > /etc/systemd/system/bulkhead-agent.service
export container=lab
exec /lib/systemd/systemd --system --unit=bulkhead-agent.service --show-status=no
