. /host/common.sh
uname -r
# --- discovery and connecting
nvme discover -t tcp -a $ADDRESS -s "$PORT" >/tmp/discovery || fail discover
grep -q "subnqn:  $NQN" /tmp/discovery || { cat /tmp/discovery; fail "the subsystem is not in the discovery log"; }
refused "could not add new controller\|failed to write\|Invalid" nvme connect -t tcp -a $ADDRESS -s "$PORT" -n nqn.2026-11.io.wafer:other
connect
DEV=$(device 1); [ "$DEV" != missing ] || fail "no namespace"
GEN=ng${DEV#nvme}
ok "discovery and connect: $CTRL $DEV"

# --- FDP with nvme-cli, compared with QEMU's own FDP device
shape() { sed -E 's/0x[0-9a-f]+/N/g; s/[0-9]+/N/g; s/\([A-Z][a-z]{2} [A-Z][a-z]{2} .*\)/(DATE)/'; }
for c in /sys/class/nvme/nvme*; do [ "$(cat "$c/transport")" = pcie ] && QEMU=$(basename "$c"); done
QNS=$(basename "$(ls -d /sys/class/nvme/"$QEMU"/nvme*n* | head -1)"); QNS=/dev/nvme${QEMU#nvme}n1
for verb in "configs CTRL -e 1" "usage CTRL -e 1" "stats CTRL -e 1" "status NS" "feature CTRL -e 1" "update NS -p 1" \
    "set-events NS -p 0 -e 1 -t 0,1,3"; do
    a=$(echo "nvme fdp $verb" | sed "s|CTRL|/dev/$CTRL|; s|NS|/dev/$DEV|")
    b=$(echo "nvme fdp $verb" | sed "s|CTRL|/dev/$QEMU|; s|NS|$QNS|")
    $a >/tmp/ours 2>&1 || { cat /tmp/ours; fail "$a"; }
    $b >/tmp/theirs 2>&1 || { cat /tmp/theirs; fail "$b (QEMU)"; }
    shape </tmp/ours >/tmp/ours.shape; shape </tmp/theirs >/tmp/theirs.shape
    cmp -s /tmp/ours.shape /tmp/theirs.shape || { diff /tmp/ours /tmp/theirs; fail "another shape than QEMU's: $verb"; }
done
ok "nvme fdp configs, usage, stats, status, feature, update, set-events: as on QEMU's device"
check nvme fdp set-events "/dev/$DEV" -p 0 -e 1 -t 0,3
head -c 4096 /dev/urandom >/tmp/page
before=$(stat HBMW)
check nvme write "/dev/$DEV" -s 0 -c 0 -z 4096 -d /tmp/page -T 2 -S 99
check nvme write "/dev/$DEV" -s 1 -c 0 -z 4096 -d /tmp/page -T 2 -S 0
[ "$(stat HBMW)" -eq $((before + 8192)) ] || fail "HBMW $before, then $(stat HBMW)"
full=$(ruamw 1); [ "$(ruamw 0)" -eq $((full - 2)) ] || { nvme fdp status "/dev/$DEV"; fail "RUAMW"; }
check nvme fdp update "/dev/$DEV" -p 0
[ "$(ruamw 0)" -eq "$full" ] || fail "RUAMW after the update: $(ruamw 0)"
check nvme fdp update "/dev/$DEV" -p 0
nvme fdp events "/dev/$CTRL" -e 1 -E >/tmp/events || fail events
[ "$(grep -c '^Event\[' /tmp/events)" -eq 2 ] || { cat /tmp/events; fail "two events are expected"; }
grep -q "Invalid Placement Identifier" /tmp/events && grep -q "Not Fully Written" /tmp/events || { cat /tmp/events; fail events; }
refused "Invalid Field" nvme fdp update "/dev/$DEV" -p 77
nvme get-log "/dev/$CTRL" -i 0xd0 -l 64 --raw-binary | head -c 4 | grep -q WAFR || fail "vendor log page"
for command in "smart-log" "smart-log -n 1" "error-log" "effects-log" "supported-log-pages" "endurance-log -g 1" "fw-log" \
    "list-endgrp" "list-ctrl" "ns-descs -n 1" "cmdset-ind-id-ns -n 1" "nvm-id-ctrl" "id-ns-granularity" \
    "get-feature -f 6" "get-feature -f 7" "get-feature -f 0xb" "get-feature -f 0xf" "dir-receive -n 1 -D 0 -O 1 -H"; do
    set -- $command; verb=$1; shift
    check nvme "$verb" "/dev/$CTRL" "$@"
done
check nvme ana-log "/dev/$CTRL"
refused "Invalid Field" nvme sanitize "/dev/$CTRL" -a 4
nvme error-log "/dev/$CTRL" -e 2 | grep -q "error_count.*: [1-9]" || fail "the error log is empty"
ok "FDP statistics, RUAMW, events, vendor log page, other logs and features, errors"

# --- firmware: a one-page image made on the host
check nvme fw-download "/dev/$CTRL" -f /host/firmware
check nvme fw-commit "/dev/$CTRL" -s 2 -a 3
nvme fw-log "/dev/$CTRL" >/tmp/firmware || fail fw-log
grep -qi "afi.*0x2" /tmp/firmware && grep -q "frs2.*INTEROP" /tmp/firmware || { cat /tmp/firmware; fail "firmware slots"; }
nvme id-ctrl "/dev/$CTRL" | grep -q "^fr .*INTEROP" || fail "firmware revision"
refused "[Ss]lot" nvme fw-commit "/dev/$CTRL" -s 7 -a 2
check nvme fw-commit "/dev/$CTRL" -s 1 -a 3
ok "nvme fw-download, fw-commit, fw-log"
# --- the persistent event log: without a context, with one that freezes it, without again
pel() { nvme persistent-event-log "/dev/$CTRL" "$@" >/tmp/pel 2>&1; }
pel -a 0 && fail "a persistent event log without a context"
pel -a 1 || { cat /tmp/pel; fail "persistent-event-log -a 1"; }
pel -a 0 || { cat /tmp/pel; fail "persistent-event-log -a 0"; }
grep -qE "Total Number of Events *: *[1-9]" /tmp/pel && grep -qE "Log Revision *: *3" /tmp/pel \
    && grep -qi "Event Number" /tmp/pel || { cat /tmp/pel; fail "events of the persistent event log"; }
nvme persistent-event-log "/dev/$CTRL" -a 0 --raw-binary >/tmp/pel.bin
[ "$(sed -nE 's/.*Total Log Length *: *([0-9]+).*/\1/p' /tmp/pel)" -eq "$(wc -c </tmp/pel.bin)" ] || fail "length of the persistent event log"
pel -a 2 || { cat /tmp/pel; fail "persistent-event-log -a 2"; }
pel -a 0 && fail "a persistent event log after its context"
ok "nvme persistent-event-log"

# --- the logs of OCP, as nvme-cli reads them
nvme ocp smart-add-log "/dev/$CTRL" >/tmp/ocp 2>&1 || { cat /tmp/ocp; fail "ocp smart-add-log"; }
grep -qiE "media units written.*[^0-9]$(stat MBMW)([^0-9]|$)" /tmp/ocp || { cat /tmp/ocp; fail "media units written, MBMW is $(stat MBMW)"; }
grep -qi "capacitor health.*65535" /tmp/ocp || { cat /tmp/ocp; fail "capacitor health"; }
check nvme ocp error-recovery-log "/dev/$CTRL"
check nvme ocp set-latency-monitor-feature "/dev/$CTRL" -e 1
nvme ocp latency-monitor-log "/dev/$CTRL" >/tmp/ocp 2>&1 || { cat /tmp/ocp; fail "ocp latency-monitor-log"; }
grep -qiE "feature status.*(0x)?1$" /tmp/ocp && grep -qiE "threshold a.*30 ms" /tmp/ocp || { cat /tmp/ocp; fail "latency monitor"; }
nvme ocp device-capability-log "/dev/$CTRL" >/tmp/ocp 2>&1 || { cat /tmp/ocp; fail "ocp device-capability-log"; }
grep -qiE "write zeroes command support.*0x7$" /tmp/ocp || { cat /tmp/ocp; fail "device capabilities"; }
check nvme ocp eol-plp-failure-mode "/dev/$CTRL" -m 1
nvme ocp eol-plp-failure-mode "/dev/$CTRL" >/tmp/ocp 2>&1 || { cat /tmp/ocp; fail "ocp eol-plp-failure-mode"; }
grep -qi "read only" /tmp/ocp || { cat /tmp/ocp; fail "failure mode"; }
check nvme ocp set-error-injection "/dev/$CTRL" -t 10
refused "Write Protected" nvme write "/dev/$DEV" -s 0 -c 0 -z 4096 -d /tmp/page
nvme smart-log "/dev/$CTRL" | grep -qi "available_spare.*: 0%" || fail "available spare"
printf '\0\0\012\0' >/tmp/injection; truncate -s 32 /tmp/injection
check nvme set-feature "/dev/$CTRL" -f 0xc0 -v 1 -l 32 -d /tmp/injection
check nvme write "/dev/$DEV" -s 0 -c 0 -z 4096 -d /tmp/page
check nvme ocp set-plp-health-check-interval "/dev/$CTRL" -p 30
nvme ocp get-plp-health-check-interval "/dev/$CTRL" -S 0 | grep -qi "0x0*1e" || fail "PLP health check interval"
check nvme ocp set-dssd-power-state-feature "/dev/$CTRL" -p 25
refused "Invalid Field" nvme ocp set-dssd-power-state-feature "/dev/$CTRL" -p 7
check nvme ocp fw-activate-history "/dev/$CTRL"
check nvme ocp clear-fw-activate-history "/dev/$CTRL"
ok "nvme ocp: SMART, error recovery, latency monitor, capabilities, failure mode, error injection, power, firmware history"

# --- uncorrectable blocks, write protection, self-test, sanitize
block() { verb=$1; shift; nvme "$verb" "/dev/$DEV" -s 8 -c 0 -z 4096 -d /tmp/block "$@"; }
cp /tmp/page /tmp/block
check nvme write-uncor "/dev/$DEV" -s 8 -c 0
refused "Unrecovered Read Error" block read
nvme get-lba-status "/dev/$CTRL" -n 1 -s 0 -m 63 -a 0x11 -l 0 >/tmp/status 2>&1 || { cat /tmp/status; fail get-lba-status; }
grep -qiE "(NLSD|descriptors).*[^0-9]1$" /tmp/status && grep -qi "dslba.*8" /tmp/status || { cat /tmp/status; fail "get-lba-status"; }
cp /tmp/page /tmp/block
check block write
check block read
check nvme set-feature "/dev/$CTRL" -n 1 -f 0x84 -V 1
refused "Write Protected" block write
check block read
cmp -s /tmp/page /tmp/block || fail "the data of a write protected namespace"
check nvme set-feature "/dev/$CTRL" -n 1 -f 0x84 -V 0
check block write
ended() { # VERB PATTERN: waits until the log matches
    for _ in $(seq 100); do
        nvme "$1" "/dev/$CTRL" >/tmp/log 2>&1 && grep -qiE "$2" /tmp/log && return
        sleep 0.3
    done
    cat /tmp/log; fail "$1: no $2"
}
for code in 1 2; do
    check nvme device-self-test "/dev/$CTRL" -n 0xffffffff -s $code
    ended self-test-log "current operation *: *(0x)?0$"
    grep -qiE "operation result *: *(0x)?0$" /tmp/log && grep -qiE "self test code *: *(0x)?$code$" /tmp/log || { cat /tmp/log; fail "self-test $code"; }
done
check nvme sanitize "/dev/$CTRL" -a 2
ended sanitize-log "0x101"
check block read
head -c 4096 /dev/zero | cmp -s - /tmp/block || fail "data after a sanitize operation"
check block write
ok "nvme write-uncor, write protection, device-self-test, sanitize"

# --- wafer measure: on this drive and on QEMU's, compared with nvme-cli before and after
cp /host/wafer /tmp/wafer
measured() { # NAME CONTROLLER BLOCK-DEVICE
    before=$(bytes_of "$2" HBMW)
    media=$(bytes_of "$2" MBMW)
    check /tmp/wafer measure "/dev/$2" --interval 1s --json "/host/measure-$1.json" --report "/host/measure-$1.html" -- \
        fio --name=m --filename="$3" --direct=1 --ioengine=psync --rw=randwrite --bs=64k --size=32m --io_size=6m --output=/tmp/m.out
    record=$(tr -d ' \n' <"/host/measure-$1.json")
    for want in "\"host_bytes\":$(($(bytes_of "$2" HBMW) - before))," "\"media_bytes\":$(($(bytes_of "$2" MBMW) - media)),"; do
        echo "$record" | grep -qF "\"summary\":{" && echo "${record#*\"summary\":}" | grep -qF "$want" ||
            { cat "/host/measure-$1.json"; fail "wafer measure on $1: no $want"; }
    done
    [ $(($(bytes_of "$2" HBMW) - before)) -eq 6291456 ] || fail "$1 counts $(($(bytes_of "$2" HBMW) - before)) bytes of 6 MiB"
    grep -q "</html>" "/host/measure-$1.html" || fail "no report of $1"
}
measured ours "$CTRL" "/dev/$DEV"
measured qemu "$QEMU" "$QNS"
refused "nvme9" /tmp/wafer measure /dev/nvme9 --for 1s
rm /tmp/wafer
ok "wafer measure on this drive and on QEMU's: 6 MiB, as nvme-cli says"

# --- namespaces
check nvme delete-ns "/dev/$CTRL" -n 1
check nvme ns-rescan "/dev/$CTRL"
refused "602a\|Placement Handle List" nvme create-ns "/dev/$CTRL" -s 1024 -c 1024 -f 1 -n 2 -p 1,1
# FDP can be switched while there are no namespaces.
check nvme fdp feature "/dev/$CTRL" -e 1 --disable
refused "6029\|FDP Disabled" nvme fdp stats "/dev/$CTRL" -e 1
check nvme fdp feature "/dev/$CTRL" -e 1 -c 0
# 256 MiB and 192 MiB of 4 KiB blocks with handle lists, 64 MiB of 512-byte blocks without.
check nvme create-ns "/dev/$CTRL" -s 65536 -c 65536 -f 1 -n 3 -p 0,1,2
check nvme create-ns "/dev/$CTRL" -s 49152 -c 49152 -f 1 -n 2 -p 1,0
check nvme create-ns "/dev/$CTRL" -s 131072 -c 131072 -f 0
refused "Insufficient Capacity" nvme create-ns "/dev/$CTRL" -s 0x10000000 -c 0x10000000 -f 0
cntlid=$(nvme id-ctrl "/dev/$CTRL" | sed -nE 's/^cntlid *: *//p')
for n in 1 2 3; do check nvme attach-ns "/dev/$CTRL" -n $n -c "$cntlid"; done
refused "Already Attached" nvme attach-ns "/dev/$CTRL" -n 1 -c "$cntlid"
check nvme ns-rescan "/dev/$CTRL"
A=$(device 1) B=$(device 2) C=$(device 3)
case "$A $B $C" in *missing*) nvme list; fail "namespaces: $A $B $C";; esac
nvme fdp usage "/dev/$CTRL" -e 1 >/tmp/usage
grep -q "Handle 0 .*Host" /tmp/usage && grep -q "Handle 3 .*Controller" /tmp/usage || { cat /tmp/usage; fail usage; }
[ "$(cat /sys/block/"$C"/queue/logical_block_size)" = 512 ] || fail "logical blocks of $C"
check nvme detach-ns "/dev/$CTRL" -n 3 -c "$cntlid"
check nvme attach-ns "/dev/$CTRL" -n 3 -c "$cntlid"
check nvme format "/dev/$CTRL" -n 3 -l 1 -f
check nvme ns-rescan "/dev/$CTRL"
C=$(device 3)
for _ in $(seq 50); do [ "$(cat /sys/block/"$C"/queue/logical_block_size)" = 4096 ] && break; sleep 0.1; done
[ "$(cat /sys/block/"$C"/queue/logical_block_size)" = 4096 ] || fail "format"
ok "namespaces: create with and without handle lists, attach, detach, format, delete; FDP off and on"

# --- fio, with placement, over two namespaces at a time
[ -d /sys/block/"$A" ] && grep . /sys/block/"$A"/queue/*stream* 2>/dev/null
cat >/tmp/job.fio <<EOF
[global]
ioengine=io_uring_cmd
cmd_type=nvme
fdp=1
verify=crc32c
do_verify=1
verify_fatal=1
iodepth=16
size=24m
[a]
filename=/dev/ng${A#nvme}
plids=0,1,2
plid_select=roundrobin
rw=randwrite
bs=16k
[b]
filename=/dev/ng${B#nvme}
plids=0,1
plid_select=random
rw=randwrite
bs=4k
io_size=8m
[c]
filename=/dev/ng${B#nvme}
offset=64m
plids=1
rw=write
bs=128k
EOF
# Debian's fio, and a current one: from 3.41 on, its commands carry PRACT.
cp -r /host/fio-current /tmp/
for fio in fio /tmp/fio-current/fio; do
    version=$($fio --version)
    before=$(stat HBMW)
    $fio /tmp/job.fio --output=/tmp/fio.out || { cat /tmp/fio.out; fail "$version"; }
    grep -q "err= *[1-9]" /tmp/fio.out && { cat /tmp/fio.out; fail "$version found wrong data"; }
    [ "$(stat HBMW)" -gt $((before + 50000000)) ] || fail "$version: HBMW $before, then $(stat HBMW)"
    ok "$version with verify=crc32c and placement over two namespaces"
done
rm -r /tmp/fio-current

# --- file systems: a tree with checksums, across unmount, disconnect and connect
tree() { # DIR: writes a tree of a few hundred files, some of them removed and rewritten
    mkdir -p "$1/d1" "$1/d2" "$1/d3"
    for i in $(seq 120); do head -c $((i * 331)) /dev/urandom >"$1/d$((i % 3 + 1))/f$i"; done
    for i in $(seq 1 3 120); do rm "$1/d$((i % 3 + 1))/f$i"; done
    for i in $(seq 1 6 120); do head -c $((i * 977)) /dev/urandom >"$1/d$((i % 3 + 1))/f$i"; done
    head -c 8000000 /dev/urandom >"$1/large"
    (cd "$1" && find . -type f | sort | xargs sha256sum)
}
modprobe -aq f2fs ext4
check mkfs.f2fs -f "/dev/$A"
check /usr/sbin/mke2fs -q -t ext4 -F "/dev/$B"
mkdir -p /mnt/a /mnt/b
check mount -t f2fs "/dev/$A" /mnt/a
check mount -t ext4 -o discard "/dev/$B" /mnt/b
tree /mnt/a >/tmp/sum.a; tree /mnt/b >/tmp/sum.b
check umount /mnt/a; check umount /mnt/b
disconnect
connect
A=$(device 1) B=$(device 2) C=$(device 3)
check mount -t f2fs "/dev/$A" /mnt/a
check mount -t ext4 "/dev/$B" /mnt/b
[ "$(wc -l </tmp/sum.a)" -gt 80 ] || fail "the tree is not there"
(cd /mnt/a && sha256sum -c /tmp/sum.a >/tmp/out 2>&1) || { grep -v OK /tmp/out; fail "F2FS lost data"; }
(cd /mnt/b && sha256sum -c /tmp/sum.b >/tmp/out 2>&1) || { grep -v OK /tmp/out; fail "ext4 lost data"; }
check umount /mnt/a; check umount /mnt/b
check /usr/sbin/fsck.f2fs --dry-run "/dev/$A"
check /usr/sbin/e2fsck -f -n "/dev/$B"
ok "F2FS and ext4: checksums after unmount and reconnect"

# --- the server is killed and restarted under load: the host reconnects and continues
fio --name=load --filename="/dev/$B" --direct=1 --ioengine=libaio --iodepth=8 --rw=randwrite --bs=8k --size=48m --io_size=12m \
    --allow_file_create=0 --verify=crc32c --do_verify=1 --verify_fatal=1 --output=/tmp/load.out &
load=$!
busy
touch /host/kill-server
for _ in $(seq 300); do [ -e /host/server-again ] && break; sleep 0.1; done
[ -e /host/server-again ] || fail "the server did not come back"
wait $load || { cat /tmp/load.out; fail "fio over a kill of the server"; }
settle
ok "fio with verify over kill -9 of the server"

# --- disconnect under load, then connect
fio --name=cut --filename="/dev/$B" --direct=1 --ioengine=libaio --iodepth=8 --rw=randwrite --bs=4k --size=64m --time_based \
    --allow_file_create=0 --runtime=60 --output=/tmp/cut.out 2>/dev/null &
load=$!
busy
disconnect
wait $load && fail "fio did not notice that its device is gone"
connect
C=$(device 3)
ok "disconnect and connect under load"

# --- swap under memory pressure
check mkswap "/dev/$C"
check swapon "/dev/$C"
mount -t tmpfs -o size=1g pressure /mnt/a
free=$(awk '/MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
fio --name=swap --filename=/mnt/a/file --ioengine=psync --rw=write --bs=64k --size=$((free + 24))m --verify=crc32c --do_verify=1 \
    --verify_fatal=1 --output=/tmp/swap.out || { cat /tmp/swap.out; fail "swap lost data"; }
used=$(awk '/nvme/ { print $4 }' /proc/swaps)
[ "$used" -gt 8000 ] || { cat /proc/swaps; fail "nothing was swapped"; }
umount /mnt/a
check swapoff "/dev/$C"
ok "swap: $used KiB under memory pressure, verified"
disconnect
