# The block tests of blktests that need a device.
target_up || exit 1
. /host/suites/blktests.sh
check "TEST_DEVS=($NS)" $(cd tests && grep -l '^test_device()' block/[0-9]*[0-9])
