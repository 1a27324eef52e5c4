# fio's tests of NVMe pass-through.
target_up || exit 1
cd /src/fio/t || exit 1
# nvmept_pi comes last, because it leaves a format with metadata if it is stopped at its limit.
for script in nvmept_fdp nvmept_trim nvmept_write_mode nvmept_streams nvmept_pi; do
    if [ "$script $TARGET" = "nvmept_streams ours" ]; then
        # Streams and FDP exclude each other.
        target_down
        ARGUMENTS="--set fdp=false --set streams=16" target_up || exit 1
        nvme dir-send "$NS" -D 0 -O 1 -e 1 -T 1 || exit 1
    fi
    unit $script 1200 python3 $script.py --dut "$GENERIC" -f /src/fio/fio -a /tmp/$script
done
