# The nvme tests of blktests: with a target for each test, then those that take a device.
. /host/suites/blktests.sh
settings="NVMET_TRTYPES=tcp NVMET_BLKDEV_TYPES=device"
if [ "$TARGET" = ours ]; then
    /host/nvme-target-control prepare || exit 1
    settings="NVME_TARGET_CONTROL=/host/nvme-target-control"
fi
check "$settings" $(cd tests && grep -L '^test_device()' nvme/[0-9]*[0-9])
# What a test left that was stopped.
nvme disconnect-all
nvmet_clear
[ "$TARGET" != ours ] || /host/nvme-target-control cleanup
target_up || exit 1
check "TEST_DEVS=($NS) NVMET_TRTYPES=tcp" $(cd tests && grep -l '^test_device()' nvme/[0-9]*[0-9])
