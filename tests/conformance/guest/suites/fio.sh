# fio's tests of NVMe pass-through.
target_up || exit 1
cd /src/fio/t || exit 1
for script in nvmept_fdp nvmept_streams nvmept_pi nvmept_trim nvmept_write_mode; do
    unit $script 1200 python3 $script.py --dut "$GENERIC" -f /src/fio/fio -a /tmp/$script
done
