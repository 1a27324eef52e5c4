# nvme-cli's tests without a device, including libnvme's.
cd /src/nvme-cli || exit 1
meson test -C .build --no-rebuild --num-processes 1 --timeout-multiplier 10
cp .build/meson-logs/testlog.json $RESULTS/
