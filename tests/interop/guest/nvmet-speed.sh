# Measures `wafer serve` and Linux's nvmet on null_blk in turns in the same guest, over TCP on its loopback address.
# Writes lines of workload, server, and IOPS. Run by scripts/nvmet-bench.
set -e
uname -r >/host/kernel
modprobe nvmet-tcp
modprobe null_blk nr_devices=0
mkdir -p /sys/kernel/config
mount -t configfs configfs /sys/kernel/config
base=/sys/kernel/config/nvmet name=nqn.2026-11.io.wafer
drive=/sys/kernel/config/nullb/nullb0
mkdir $drive
for pair in size=1024 blocksize=4096 memory_backed=0 completion_nsec=0 irqmode=0 queue_mode=2 power=1; do
    echo "${pair#*=}" >$drive/"${pair%=*}"
done
subsystem=$base/subsystems/$name:nvmet
mkdir -p $subsystem/namespaces/1 $base/ports/1
echo 1 >$subsystem/attr_allow_any_host
echo /dev/nullb0 >$subsystem/namespaces/1/device_path
echo 1 >$subsystem/namespaces/1/enable
for pair in trtype=tcp adrfam=ipv4 traddr=127.0.0.1 trsvcid=4420; do
    echo "${pair#*=}" >$base/ports/1/addr_"${pair%=*}"
done
ln -s $subsystem $base/ports/1/subsystems/
serve() { # NAME PORT DATA
    /host/wafer serve --quiet --device warp --set capacity=512MiB --set reclaim_unit.size=4MiB --set reclaim_unit.count=160 \
        --data "$3" --listen "127.0.0.1:$2" --nqn "$name:$1" --json >"/tmp/$1.ready" &
    for _ in $(seq 100); do
        [ ! -s "/tmp/$1.ready" ] || return 0
        sleep 0.1
    done
    return 1
}
serve memory 4421 memory
serve file 4422 file:/tmp/drive.img
device() { # NAME PORT: connects it, and prints its device
    before=$(ls /dev/nvme*n1 2>/dev/null || true)
    nvme connect -t tcp -a 127.0.0.1 -s "$2" -n "$name:$1" >&2
    for _ in $(seq 100); do
        for one in /dev/nvme*n1; do
            case " $before " in *"$one"*) ;; *) [ ! -b "$one" ] || { echo "$one"; return; } ;; esac
        done
        sleep 0.1
    done
    return 1
}
nvmet=$(device nvmet 4420)
memory=$(device memory 4421)
file=$(device file 4422)
rate() { # DEVICE RW BS DEPTH
    fio --name=x --filename="$1" --direct=1 --rw="rand$2" --bs="$3" --iodepth="$4" --ioengine=libaio --size=256m --time_based \
        --runtime="$SECONDS_EACH" --output-format=terse 2>/dev/null | awk -F';' '/^3;/ { printf "%.0f\n", $8 + $49 }'
}
for one in $memory $file; do
    dd if=/dev/zero of="$one" bs=1M count=256 oflag=direct 2>/dev/null
done
for round in 1 2 3; do
    for case in "4k 1" "128k 8"; do
        for rw in read write; do
            for server in nvmet memory file; do
                eval "one=\$$server"
                echo "$case $rw $server $(rate "$one" $rw $case)" >>/host/rates
            done
        done
    done
done
nvme disconnect-all
