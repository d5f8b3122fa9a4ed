# What the machine of `cargo xtask vrf-test` can be asked for, beside what every shell can.

# FRR's daemons want to be somebody else than root.
echo 'root:x:0:0:root:/:/bin/sh' > /etc/passwd
echo 'frr:x:101:101:frr:/:/bin/false' >> /etc/passwd
printf 'root:x:0:\nfrr:x:101:frr\nfrrvty:x:102:frr\n' > /etc/group
mkdir -p /run/netns /var/tmp /var/run
export PATH=/bin HOME=/
