# The nvme tests of blktests: first those that set up a target, then those that need a device.
. /host/suites/blktests.sh
settings="NVMET_TRTYPES=tcp NVMET_BLKDEV_TYPES=device"
tests=$(cd tests && grep -L '^test_device()' nvme/[0-9]*[0-9])
if [ "$TARGET" = ours ]; then
    /host/nvme-target-control prepare || exit 1
    # Tests that change the target while it serves.
    changing='nvme/031 nvme/042 nvme/043 nvme/044 nvme/045 nvme/048 nvme/051 nvme/054 nvme/057 nvme/058'
    cp tests/nvme/rc /tmp/rc
    echo '. /host/nvmet-functions.sh' >>tests/nvme/rc
    sed -i 's/subsys="blktests/subsys="nqn.2026-11.io.wafer:blktests/' tests/nvme/031
    check "$settings" $changing
    cp /tmp/rc tests/nvme/rc
    rm -rf /tmp/nvmet
    settings="NVME_TARGET_CONTROL=/host/nvme-target-control"
    tests=$(printf '%s\n' $tests | grep -vxF "$(printf '%s\n' $changing)")
fi
check "$settings" $tests
# Cleans up after tests that were stopped.
nvme disconnect-all
nvmet_clear
[ "$TARGET" != ours ] || /host/nvme-target-control cleanup
target_up || exit 1
check "TEST_DEVS=($NS) NVMET_TRTYPES=tcp" $(cd tests && grep -l '^test_device()' nvme/[0-9]*[0-9])
