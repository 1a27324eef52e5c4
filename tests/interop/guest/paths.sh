. /host/common.sh
# One subsystem through two ports: multipath continues through the other port when access through one changes.
uname -r
connect
FIRST=$CTRL
check nvme connect -t tcp -a $ADDRESS -s "$SECOND" -n "$NQN"
DEV=$(device 1)
[ "$DEV" != missing ] || fail "no namespace"
for _ in $(seq 100); do
    SECOND=$(cd /sys/class/nvme && ls | grep -v "^$FIRST\$" | head -1)
    [ -n "$SECOND" ] && [ "$(cat "/sys/class/nvme/$SECOND/state")" = live ] && break
    sleep 0.1
done
path() { echo /sys/class/nvme/"$1"/nvme*c*n*; }
state() { cat "$(path "$1")/ana_state"; }
writes() { awk '{ print $5 }' "$(path "$1")/stat"; }
becomes() { # CONTROLLER STATE: waits until the kernel has read the state from the log page
    for _ in $(seq 100); do
        [ "$(state "$1")" = "$2" ] && return
        sleep 0.1
    done
    cat /host/ctl.out
    fail "$1 is $(state "$1"), not $2"
}
through() { # CONTROLLER OTHER: checks that writes go through the first, and none through the other
    before=$(writes "$2") idle=$(writes "$1")
    for _ in $(seq 100); do
        [ "$(writes "$1")" -ge $((idle + 20)) ] && break
        sleep 0.1
    done
    [ "$(writes "$1")" -ge $((idle + 20)) ] || fail "no writes through $1"
    [ "$(writes "$2")" -eq "$before" ] || fail "writes through $2, which is $(state "$2")"
}
becomes "$FIRST" optimized
becomes "$SECOND" optimized
fio --name=paths --filename="/dev/$DEV" --direct=1 --ioengine=libaio --iodepth=4 --rw=randwrite --bs=8k --size=48m --io_size=24m \
    --rate_iops=,100 --eta=never --allow_file_create=0 --verify=crc32c --do_verify=1 --verify_fatal=1 --output=/tmp/fio.out &
load=$!
busy
ctl ana inaccessible --port 1
becomes "$FIRST" inaccessible
through "$SECOND" "$FIRST"
ctl ana non-optimized --port 1
becomes "$FIRST" non-optimized
through "$SECOND" "$FIRST"
ctl ana inaccessible --port 2
becomes "$SECOND" inaccessible
through "$FIRST" "$SECOND"
kill -0 $load 2>/dev/null || fail "the load ended before the last change"
ctl ana optimized --port 2
becomes "$SECOND" optimized
wait $load || { cat /tmp/fio.out; fail "fio over changes of access"; }
check nvme ana-log "/dev/$FIRST"
disconnect
ok "fio with verify over ANA changes of two ports: optimized, non-optimized, inaccessible and back"
