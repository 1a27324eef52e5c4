# Runs one suite against one target, which /host/suite and /host/target name. All output goes to /host/results, and is
# interpreted outside the guest.
# unit NAME SECONDS COMMAND...: runs a part of the suite. Its output is results/units/NAME, its exit status NAME.status,
# 124 after a timeout. A part that ended in an earlier run is not run again.
unit() {
    local out=$RESULTS/units/$1 limit=$2 status
    shift 2
    [ ! -e "$out.status" ] || return "$(cat "$out.status")"
    mkdir -p "${out%/*}"
    timeout --kill-after=30 "$limit" "$@" >"$out" 2>&1 </dev/null
    status=$?
    [ $status != 137 ] || status=124
    [ $status != 124 ] || echo "timed out after $limit s" >>"$out"
    echo $status >"$out.status"
    return $status
}
SUITE=$(cat /host/suite) TARGET=$(cat /host/target) RESULTS=/host/results
export SUITE TARGET RESULTS
mount -t devpts -o ptmxmode=666 devpts /dev/pts 2>/dev/null || { mkdir -p /dev/pts && mount -t devpts devpts /dev/pts; }
mount -t debugfs debugfs /sys/kernel/debug
mount -t configfs configfs /sys/kernel/config 2>/dev/null || { modprobe configfs; mount -t configfs configfs /sys/kernel/config; }
ln -sfn /proc/self/fd /dev/fd
# The suites wait for udev with udevadm settle.
/usr/lib/systemd/systemd-udevd --daemon
udevadm settle
[ "$TARGET" != ours ] || install -D /host/wafer /usr/local/bin/wafer
uname -r >$RESULTS/kernel
. /host/targets.sh
. "/host/suites/$SUITE.sh" >>"$RESULTS/output" 2>&1
status=$?
dmesg >"$RESULTS/dmesg"
[ -e /tmp/server.log ] && cp /tmp/server.log "$RESULTS/"
exit $status
