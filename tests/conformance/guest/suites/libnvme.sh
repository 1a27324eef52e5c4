# libnvme's tests. They need no device, though some scan those of the system.
target_up || exit 1
cd /src/libnvme || exit 1
meson test -C .build --no-rebuild --num-processes 1 --timeout-multiplier 10
cp .build/meson-logs/testlog.json $RESULTS/
