# Shared by all tests in the guest. PORT and NQN come from /host/env.sh.
. /host/env.sh
ADDRESS=10.0.2.2
fail() { echo "FAIL: $*"; dmesg | tail -30; exit 1; }
ok() { echo "ok: $*"; }
check() { "$@" >/tmp/out 2>&1 || { cat /tmp/out; fail "$*"; }; }
# Runs a command that must fail with a message that contains the first argument.
refused() {
    want=$1; shift
    if "$@" >/tmp/out 2>&1; then cat /tmp/out; fail "succeeded: $*"; fi
    grep -qi "$want" /tmp/out || { cat /tmp/out; fail "another message than '$want': $*"; }
}
connect() { check nvme connect -t tcp -a $ADDRESS -s "$PORT" -n "$NQN" "$@"; settle; }
disconnect() { check nvme disconnect -n "$NQN"; }
# Waits for the controller of the target; that of QEMU's own device has the transport PCI.
settle() {
    for _ in $(seq 100); do
        for c in /sys/class/nvme/nvme*; do
            [ "$(cat "$c/transport")" = tcp ] && [ "$(cat "$c/state")" = live ] && CTRL=$(basename "$c")
        done
        [ -n "${CTRL:-}" ] && [ -e "/sys/class/nvme/$CTRL" ] && return
        sleep 0.1
    done
    fail "no controller"
}
# Waits for a namespace's block device and names it.
device() {
    for _ in $(seq 100); do
        for d in /sys/block/nvme*n*; do
            [ -e "$d" ] || continue
            [ "$(cat "$d/nsid" 2>/dev/null)" = "$1" ] || continue
            readlink -f "$d/device" | grep -q "nvme-subsys\|nvme-fabrics" || continue
            nqn=$(cat "$d/device/subsysnqn" 2>/dev/null)
            [ "$nqn" = "$NQN" ] && [ -b "/dev/$(basename "$d")" ] && { basename "$d"; return; }
        done
        sleep 0.1
    done
    echo missing
}
bytes_of() { nvme fdp stats "/dev/$1" -e 1 | sed -nE "s/.*\($2\): ([0-9]+)/\1/p"; }
# Prints the media units that still fit into the reclaim unit of a placement handle.
ruamw() { nvme fdp status "/dev/$DEV" | awk -v p="$1" '$1 == "Placement" { on = $3 == p";" } on && /RUAMW/ { print $NF }'; }
# Waits until a load in the background has written, which depends on the machine.
busy() {
    idle=$(stat HBMW)
    for _ in $(seq 100); do
        [ "$(stat HBMW)" -gt $((idle + 200000)) ] && return
        sleep 0.2
    done
    fail "the load does not write"
}
stat() { bytes_of "$CTRL" "$1"; }
ctl() { # ARGUMENT...: makes the host run `wafer ctl`
    echo "$*" >/host/ctl.new
    mv /host/ctl.new /host/ctl
    for _ in $(seq 100); do [ -e /host/ctl ] || return 0; sleep 0.1; done
    fail "wafer ctl $*"
}
