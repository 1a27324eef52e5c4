. /host/common.sh
# A kernel that has write streams for FDP namespaces (6.16 and later).
uname -r
connect
A=$(device 1)
[ "$A" != missing ] || fail "no namespace"
[ "$(cat /sys/block/"$A"/queue/max_write_streams)" = 4 ] || { grep . /sys/block/"$A"/queue/*stream*; fail "write streams"; }
[ "$(cat /sys/block/"$A"/queue/write_stream_granularity)" = 8388608 ] || fail "granularity of write streams"
fio --name=v --filename="/dev/$A" --direct=1 --ioengine=io_uring --iodepth=8 --rw=randwrite --bs=16k --size=16m --verify=crc32c \
    --do_verify=1 --output=/tmp/fio.out || { cat /tmp/fio.out; fail fio; }
disconnect
ok "kernel $(uname -r): max_write_streams 4, granularity 8 MiB; fio"
