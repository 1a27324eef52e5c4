# Bash functions for scripts that use a simulated drive through `wafer mount` and loop devices, as root.
#
#   WAFER   binary                WORK   directory of the drive, its data and mount points
#
# drive_up TRACE DEVICE_TOML     mounts the drive; $loops lists its namespaces as loop devices
# drive_down                     removes swap, file systems and loop devices, and stops the server
# drive_down also runs when the script exits, even after an error.

give_up() {
    echo "$(basename "$0"): $1" >&2
    exit 1
}

need_root_and_fuse() { # PROGRAM...: fails with a message unless root, FUSE, loop devices and the programs are available
    [ "$(id -u)" -eq 0 ] || give_up "not run: loop devices and mount need root"
    [ -e /dev/fuse ] || give_up "not run: no /dev/fuse (modprobe fuse)"
    [ -e /dev/loop-control ] || give_up "not run: no /dev/loop-control (modprobe loop)"
    PATH=$PATH:/usr/sbin:/sbin
    for tool in losetup mount umount "$WAFER" "$@"; do
        command -v "$tool" >/dev/null || give_up "not run: no $tool"
    done
}

server= loops=() swaps=() mounted=()

drive_up() {
    mkdir -p "$WORK/drive"
    "$WAFER" mount "$WORK/drive" --device "$2" --data "file:$WORK/data" --lock-memory --quiet \
        --record "$1" --json "$WORK/counters.json" &
    server=$!
    for _ in $(seq 300); do
        [ -e "$WORK/drive/counters.json" ] && break
        kill -0 "$server" 2>/dev/null || give_up "the drive could not be mounted"
        sleep 0.1
    done
    loops=()
    for file in "$WORK"/drive/nvme0n*; do
        loops+=("$(losetup --direct-io=on --find --show "$file")")
    done
}

mount_at() { # DEVICE FOLDER [OPTION...]
    local device=$1 folder=$2
    shift 2
    mkdir -p "$folder"
    mount "$@" "$device" "$folder"
    mounted+=("$folder")
}

swap_on() { # DEVICE
    swapon "$1"
    swaps+=("$1")
}

written() { # prints the bytes that the host has written
    sed -n 's/^    "host_bytes": \([0-9]*\),/\1/p' "$WORK/drive/counters.json"
}

drive_down() {
    local swap folder loop
    for swap in "${swaps[@]}"; do swapoff "$swap" || true; done
    for folder in "${mounted[@]}"; do
        mountpoint -q "$folder" || continue
        # After an interruption, programs may still hold the file system for a moment.
        for _ in $(seq 50); do umount "$folder" && break || sleep 0.2; done
    done
    for loop in "${loops[@]}"; do losetup --detach "$loop" || true; done
    # The kernel detaches loop devices in the background; until then they hold the drive.
    for _ in $(seq 100); do
        losetup --all | grep -q "$WORK/drive/" || break
        sleep 0.1
    done
    swaps=() mounted=() loops=()
    if [ -n "$server" ]; then
        umount "$WORK/drive" || kill "$server"
        wait "$server" || true
        server=
    fi
}

trap 'set +e; drive_down' EXIT
