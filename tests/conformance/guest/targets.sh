# target_up: makes the target's drive available. CTRL, NS and GENERIC are the device files of the controller, the
# namespace and the namespace's character device. ARGUMENTS are additional arguments of `wafer serve`.
NQN=nqn.2026-11.io.wafer:conformance
serve() { # [ARGUMENT...]: starts the server and waits until it listens
    rm -f /tmp/server.json
    /usr/local/bin/wafer serve --device "${DEVICE:-/host/device.toml}" --json "$@" >/tmp/server.json 2>>/tmp/server.log </dev/null &
    echo $! >/tmp/server.pid
    for _ in $(seq 100); do
        [ -s /tmp/server.json ] && return
        sleep 0.1
    done
    echo "the server does not start" >&2
    cat /tmp/server.log >&2
    return 1
}
nvmet_up() { # exports a 1 GiB memory drive with nvmet
    local base=/sys/kernel/config/nvmet
    modprobe nvmet-tcp && modprobe null_blk nr_devices=0 || return 1
    mkdir /sys/kernel/config/nullb/nullb0
    echo 1024 >/sys/kernel/config/nullb/nullb0/size
    for pair in blocksize=4096 memory_backed=1 discard=1 power=1; do
        echo "${pair#*=}" >/sys/kernel/config/nullb/nullb0/"${pair%=*}" || return 1
    done
    mkdir -p $base/subsystems/$NQN/namespaces/1
    echo 1 >$base/subsystems/$NQN/attr_allow_any_host
    echo /dev/nullb0 >$base/subsystems/$NQN/namespaces/1/device_path
    echo 1 >$base/subsystems/$NQN/namespaces/1/enable || return 1
    mkdir $base/ports/1
    for pair in trtype=tcp adrfam=ipv4 traddr=127.0.0.1 trsvcid=4420; do
        echo "${pair#*=}" >$base/ports/1/addr_"${pair%=*}"
    done
    ln -s $base/subsystems/$NQN $base/ports/1/subsystems/ || return 1
}
nvmet_clear() { # removes remains of nvmet, which would occupy the port
    local base=/sys/kernel/config/nvmet one
    [ -d $base ] || return 0
    rm -f $base/ports/*/subsystems/* $base/subsystems/*/allowed_hosts/*
    for one in $base/subsystems/*/namespaces/*/enable; do
        [ ! -e "$one" ] || echo 0 >"$one"
    done
    for one in $base/ports/*/referrals/* $base/ports/* $base/subsystems/*/namespaces/* $base/subsystems/* $base/hosts/*; do
        [ ! -d "$one" ] || rmdir "$one"
    done
}
target_down() { # ends what target_up started; for `wafer serve` only
    /usr/sbin/nvme disconnect -n $NQN
    kill "$(cat /tmp/server.pid)" && wait "$(cat /tmp/server.pid)"
    unset CTRL NS GENERIC
}
target_up() {
    local transport=tcp c
    modprobe -a nvme-tcp
    case $TARGET in
    ours) serve --data memory --listen 127.0.0.1:4420 --nqn $NQN ${ARGUMENTS:-} ;;
    nvmet) nvmet_up ;;
    qemu) transport=pcie; modprobe nvme ;;
    esac || return 1
    [ $transport = pcie ] || /usr/sbin/nvme connect -t tcp -a 127.0.0.1 -s 4420 -n $NQN || return 1
    for _ in $(seq 100); do
        for c in /sys/class/nvme/nvme*; do
            [ "$(cat "$c/transport" 2>/dev/null)" = $transport ] && [ "$(cat "$c/state")" = live ] && CTRL=/dev/${c##*/}
        done
        for c in /dev/nvme*n1; do [ -b "$c" ] && NS=$c; done
        [ -n "${CTRL:-}" ] && [ -n "${NS:-}" ] && break
        sleep 0.1
    done
    udevadm settle
    GENERIC=/dev/ng${NS#/dev/nvme}
    [ -c "$GENERIC" ] || { echo "no namespace" >&2; return 1; }
    echo "$TARGET: $CTRL $NS $GENERIC"
    export CTRL NS GENERIC
}
