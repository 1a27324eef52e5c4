# check SETTINGS TEST...: runs tests of blktests, one at a time, with settings for its configuration file.
cd /src/blktests || exit 1
# A test that loads it unloads it at its end, and waits for minutes if something still has a loop device.
modprobe loop
# blktests compares versions of the kernel, and reads no `+`, as Debian's backports have.
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
        # With a target of its own blktests leaves the loop device that nvmet would have exported.
        losetup -D
        mkdir -p $RESULTS/blktests
        cp -r results/. $RESULTS/blktests/
    done
}
