# check SETTINGS TEST...: runs tests of blktests, one at a time, with settings for its configuration file.
cd /src/blktests || exit 1
# Loaded here because a test that loads it also unloads it, and waits for minutes if a loop device is still in use.
modprobe loop
# blktests compares kernel versions, and cannot parse the `+` of Debian's backports.
release=$(uname -r) plain=$(uname -r | tr + -)
if [ "$plain" != "$release" ]; then
    ln -s "$release" "/lib/modules/$plain"
    mkdir -p /boot
    ln -s "/lib/modules/$release/config" "/boot/config-$plain"
    printf '#!/bin/sh\n/usr/bin/uname "$@" | sed "s/%s/%s/"\n' "$release" "$plain" >/usr/local/bin/uname
    chmod +x /usr/local/bin/uname
fi
check() {
    cat >config <<CONFIG
TIMEOUT=10
QUICK_RUN=1
NVME_IMG_SIZE=400M
NVME_NUM_ITER=10
RUN_ZONED_TESTS=0
$(printf '%s\n' "$1" | sed 's/ \([A-Z_]*=\)/\n\1/g')
CONFIG
    shift
    for one in "$@"; do
        unit "$one" 600 ./check "$one"
        # With a custom target control, blktests leaves the loop device that nvmet would have exported.
        losetup -D
        mkdir -p $RESULTS/blktests
        cp -r results/. $RESULTS/blktests/
    done
}
