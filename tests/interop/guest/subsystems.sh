. /host/common.sh
# Subsystems of one server: two connected at once, and one with a clock.
OTHER=nqn.2026-11.io.wafer:second
nvme discover -t tcp -a $ADDRESS -s "$PORT" >/tmp/discover || fail discover
for name in "$NQN" $OTHER; do grep -q "subnqn: *$name$" /tmp/discover || { cat /tmp/discover; fail "$name is not discovered"; }; done
connect
A=$(device 1)
check nvme connect -t tcp -a $ADDRESS -s "$PORT" -n $OTHER
B=$(NQN=$OTHER; device 1)
[ "$A" != missing ] && [ "$B" != missing ] && [ "$A" != "$B" ] || fail "two namespaces are expected: $A $B"
[ "$(blockdev --getsize64 "/dev/$A")" -eq 536870912 ] && [ "$(blockdev --getsize64 "/dev/$B")" -eq 268435456 ] || fail "their sizes"
for pair in "$A 1" "$B 2"; do
    set -- $pair
    fio --name=d --filename="/dev/$1" --direct=1 --ioengine=psync --rw=write --bs=16k --size=1m --verify=pattern --verify_pattern=$2 \
        --do_verify=0 --output=/tmp/fio.out || { cat /tmp/fio.out; fail "fio on $1"; }
done
for pair in "$A 1" "$B 2"; do
    set -- $pair
    fio --name=d --filename="/dev/$1" --direct=1 --ioengine=psync --rw=write --bs=16k --size=1m --verify=pattern --verify_pattern=$2 \
        --verify_only=1 --output=/tmp/fio.out || { cat /tmp/fio.out; fail "$1 has the data of the other"; }
done
check nvme disconnect -n $OTHER
[ -b "/dev/$A" ] || fail "the first went with the second"
disconnect
# A third one, whose cell reads take 20 ms.
TIMED=nqn.2026-11.io.wafer:timed
check nvme connect -t tcp -a $ADDRESS -s "$PORT" -n $TIMED
C=$(NQN=$TIMED; device 1)
fio --name=t --filename="/dev/$C" --direct=1 --ioengine=psync --rw=write --bs=64k --size=8m --output=/tmp/fio.out || { cat /tmp/fio.out; fail "fio on $C"; }
fio --name=t --filename="/dev/$C" --direct=1 --ioengine=psync --rw=randread --bs=4k --size=8m --io_size=64k --output-format=terse \
    --output=/tmp/fio.out || { cat /tmp/fio.out; fail "fio reads $C"; }
MEAN=$(tail -1 /tmp/fio.out | cut -d';' -f16)
[ "${MEAN%.*}" -ge 10000 ] || { cat /tmp/fio.out; fail "reads take $MEAN us"; }
check nvme disconnect -n $TIMED
ok "a drive with a clock: reads take $MEAN us on average"
ok "two subsystems: discovered, connected at once, apart"
