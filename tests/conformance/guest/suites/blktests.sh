# check SETTINGS TEST...: runs tests of blktests, one at a time, with settings for its configuration file.
cd /src/blktests || exit 1
check() {
    cat >config <<CONFIG
TIMEOUT=10
QUICK_RUN=1
NVME_IMG_SIZE=400M
NVME_NUM_ITER=10
RUN_ZONED_TESTS=0
$(printf '%s\n' "$1" | sed 's/ \([A-Z_]*=\)/\n\1/g')
CONFIG
    shift
    for one in "$@"; do
        timeout 300 ./check "$one" || echo "$one: status $?"
        mkdir -p $RESULTS/blktests
        cp -r results/. $RESULTS/blktests/
    done
}
