. /host/common.sh
# A kernel that has write streams for FDP namespaces (6.16 and later).
uname -r
connect
DEV=$(device 1)
[ "$DEV" != missing ] || fail "no namespace"
[ "$(cat /sys/block/"$DEV"/queue/max_write_streams)" = 4 ] || { grep . /sys/block/"$DEV"/queue/*stream*; fail "write streams"; }
[ "$(cat /sys/block/"$DEV"/queue/write_stream_granularity)" = 8388608 ] || fail "granularity of write streams"
fio --name=v --filename="/dev/$DEV" --direct=1 --ioengine=io_uring --iodepth=8 --rw=randwrite --bs=16k --size=16m --verify=crc32c \
    --do_verify=1 --output=/tmp/fio.out || { cat /tmp/fio.out; fail fio; }
# A lifetime hint is the number of a write stream, and selects the placement handle one below it: `medium` is 3.
left=$(ruamw 2) others="$(ruamw 0) $(ruamw 1) $(ruamw 3)"
fio --name=h --filename="/dev/$DEV" --direct=1 --ioengine=libaio --rw=write --bs=16k --size=1m --write_hint=medium --output=/tmp/fio.out ||
    { cat /tmp/fio.out; fail "fio --write_hint"; }
[ "$((left - $(ruamw 2)))" -eq 256 ] && [ "$(ruamw 0) $(ruamw 1) $(ruamw 3)" = "$others" ] ||
    { nvme fdp status "/dev/$DEV"; fail "a write hint: $left of handle 2 before, $others of the others"; }
disconnect
ok "kernel $(uname -r): max_write_streams 4, granularity 8 MiB; fio; a write hint reaches its handle"
