# fio's tests of NVMe pass-through.
target_up || exit 1
cd /src/fio/t || exit 1
for script in nvmept_fdp nvmept_streams nvmept_pi nvmept_trim nvmept_write_mode; do
    echo "== $script"
    timeout 900 python3 $script.py --dut "$GENERIC" -f /src/fio/fio -a /tmp/$script 2>&1 | tee $RESULTS/$script.txt
    echo "status ${PIPESTATUS[0]}" >>$RESULTS/$script.txt
done
