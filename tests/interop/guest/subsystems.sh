. /host/common.sh
# Two subsystems of one server, connected at once.
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
ok "two subsystems: discovered, connected at once, apart"
