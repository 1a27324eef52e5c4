. /host/common.sh
# A drive with streams and without FDP: nvme-cli's directives, and fio's writes to streams.
PATH=/host/fio-current:$PATH
connect
A=$(device 1)
[ "$A" != missing ] || fail "no namespace"
G=/dev/ng${A#nvme}
open() { nvme dir-receive "/dev/$A" -D 1 -O 2 -H | awk -F: '/Stream Identifier/ { printf "%s%d", n++ ? " " : "", $2 }'; }
write() { # IDENTIFIERS [SIZE [ARGUMENT...]]: writes to streams as fio does
    local plids=$1 size=${2:-1m}
    shift $(($# > 1 ? 2 : 1))
    fio --name=s --filename="$G" --ioengine=io_uring_cmd --cmd_type=nvme --rw=write --bs=4k --size=16m --io_size="$size" \
        --dataplacement=streams --plids="$plids" --output=/tmp/fio.out "$@" || { cat /tmp/fio.out; fail "fio"; }
}
nvme dir-receive "/dev/$A" -D 0 -O 1 -H >/tmp/directives || fail dir-receive
grep -qi "Stream Directive *: supported" /tmp/directives || { cat /tmp/directives; fail "streams are not supported"; }
refused "Invalid Field" nvme dir-receive "/dev/$A" -D 1 -O 1
check nvme dir-send "/dev/$A" -D 0 -O 1 -e 1 -T 1
[ -z "$(open)" ] || fail "streams are open: $(open)"
write 8
[ "$(open)" = 8 ] || fail "stream 8 is expected: $(open)"
write 88,99,7 1m --verify=crc32c
[ "$(open)" = "7 8 88 99" ] || fail "four streams are expected: $(open)"
nvme dir-receive "/dev/$A" -D 1 -O 1 -H >/tmp/parameters || fail "return parameters"
grep -qiE "max streams limit.*: (8|0x8)$" /tmp/parameters || { cat /tmp/parameters; fail "MSL"; }
check nvme dir-send "/dev/$A" -D 1 -O 1 -S 88
[ "$(open)" = "7 8 99" ] || fail "stream 88 is released: $(open)"
check nvme dir-receive "/dev/$A" -D 1 -O 3 -r 2
write 1,2,3
[ "$(open | wc -w)" -eq 2 ] || fail "two streams are allocated: $(open)"
check nvme dir-send "/dev/$A" -D 1 -O 2
[ -z "$(open)" ] || fail "resources are released: $(open)"
check nvme dir-send "/dev/$A" -D 0 -O 1 -e 0 -T 1
refused "Invalid Field" nvme dir-receive "/dev/$A" -D 1 -O 2
disconnect
ok "streams: enabled, opened by fio, counted, released, allocated"
