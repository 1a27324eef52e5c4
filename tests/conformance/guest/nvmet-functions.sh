# shellcheck shell=bash
# Replaces the functions of blktests that configure nvmet, for `wafer serve`. nvme/rc sources this last, for tests that
# change the target while it serves. The configuration is kept in files with nvmet's names; each subsystem that is on a
# port and has a namespace has a server. Limits of queues are not supported.
NVMET_CFS=/tmp/nvmet
# The server accepts only valid NQNs.
def_subsysnqn=nqn.2026-11.io.wafer:blktests
# The drive keeps the identifiers of its namespace.
def_subsys_uuid=$(cat /var/tmp/drive.uuid)
mkdir -p $NVMET_CFS/{hosts,ports,subsystems}

_wafer_ports() { # NQN: the ports of a subsystem, in order
    local link
    for link in "$NVMET_CFS"/ports/*/subsystems/"$1"; do
        [[ ! -e "$link" ]] || basename "${link%/subsystems/*}"
    done | sort -n
}
_wafer_control() { # NQN ARGUMENT...
    local socket="$NVMET_CFS/subsystems/$1/control"
    shift
    wafer ctl "$socket" "$@" >/dev/null
}
_wafer_hosts() { # NQN: writes the list of its hosts, and loads it into a running server
    local folder="$NVMET_CFS/subsystems/$1" name key
    for name in "$folder"/allowed_hosts/*; do
        [[ -e "$name" ]] || continue
        printf '[[host]]\nnqn = "%s"\nmanage = true\n' "${name##*/}"
        for key in dhchap_key dhchap_ctrl_key dhchap_hash dhchap_dhgroup; do
            [[ ! -s "$NVMET_CFS/hosts/${name##*/}/$key" ]] ||
                printf '%s = "%s"\n' $key "$(sed 's/^hmac(\(.*\))$/\1/' "$NVMET_CFS/hosts/${name##*/}/$key")"
        done
    done >"$folder/hosts.toml"
    [[ ! -S "$folder/control" || ! -s "$folder/hosts.toml" ]] || _wafer_control "$1" hosts "$folder/hosts.toml"
}
_wafer_stop() { # NQN
    local folder="$NVMET_CFS/subsystems/$1" server
    [[ -e "$folder/server" ]] || return 0
    server=$(cat "$folder/server")
    kill "$server"
    while kill -0 "$server" 2>/dev/null; do sleep 0.1; done
    rm -f "$folder/server" "$folder/control"
}
_wafer_namespaces() { # NQN: the namespaces of a subsystem, in order
    ls "$NVMET_CFS/subsystems/$1/namespaces" | sort -n
}
_wafer_start() { # NQN: serves it on its current ports, if it has one
    local nqn="$1" folder="$NVMET_CFS/subsystems/$1" port nsid file list=''
    local -a listen=() drive=(--data file:/var/tmp/drive.img)
    _wafer_stop "$nqn"
    [[ -n "$(_wafer_namespaces "$nqn")" ]] || return 0
    if [[ ! -e "$folder/has_blkdev" ]]; then
        # A separate drive, because other tests rely on the identifiers of the first one.
        for nsid in $(_wafer_namespaces "$nqn"); do list+='{ size = "64MiB" }, '; done
        drive=(--data "file:/var/tmp/drive-$nsid.img" --set "namespaces=[$list]")
    fi
    for port in $(_wafer_ports "$nqn"); do
        listen+=(--listen "$(cat "$NVMET_CFS/ports/$port/addr_traddr"):$(cat "$NVMET_CFS/ports/$port/addr_trsvcid")")
    done
    ((${#listen[@]} > 0)) || return 0
    _wafer_hosts "$nqn"
    [[ ! -s "$folder/hosts.toml" ]] || listen+=(--hosts "$folder/hosts.toml")
    # In a subshell, so that the variables of the test do not change.
    (
        . /host/targets.sh
        serve --set capacity=400MiB --lba 512 "${drive[@]}" --nqn "$nqn" --ctl "$folder/control" "${listen[@]}"
    )
    mv /tmp/server.pid "$folder/server"
    for file in "$folder"/namespaces/*/{device_uuid,ana_grpid,enable} "$NVMET_CFS"/ports/*/ana_groups/*/ana_state; do
        [[ ! -s "$file" ]] || _wafer_changed "$file" "$(cat "$file")"
    done
}
_wafer_changed() { # FILE VALUE: applies a change to running servers
    local subsystem port nqn number group nsid
    case $1 in
    "$NVMET_CFS"/subsystems/*/namespaces/*)
        nqn=${1#"$NVMET_CFS/subsystems/"} nqn=${nqn%%/*}
        nsid=${1%/*} nsid=${nsid##*/}
        [[ -S "$NVMET_CFS/subsystems/$nqn/control" ]] || return 0
        case ${1##*/}=$2 in
        enable=0) _wafer_control "$nqn" namespace "$nsid" --off ;;
        enable=1) _wafer_control "$nqn" namespace "$nsid" --on ;;
        # As in nvmet, these come before the namespace is enabled.
        device_uuid=*) _wafer_control "$nqn" namespace "$nsid" --off --uuid "$2" ;;
        ana_grpid=*) _wafer_control "$nqn" namespace "$nsid" --off --ana-group "$2" ;;
        esac
        ;;
    "$NVMET_CFS"/hosts/*)
        for subsystem in "$NVMET_CFS"/subsystems/*; do
            _wafer_hosts "${subsystem##*/}"
        done
        ;;
    "$NVMET_CFS"/ports/*/ana_groups/*/ana_state)
        port=${1#"$NVMET_CFS/ports/"} port=${port%%/*}
        group=${1%/*} group=${group##*/}
        for subsystem in "$NVMET_CFS/ports/$port"/subsystems/*; do
            nqn=${subsystem##*/}
            [[ -S "$NVMET_CFS/subsystems/$nqn/control" ]] || continue
            # The server numbers its ports from 1.
            number=$(_wafer_ports "$nqn" | grep -nx "$port" | cut -d: -f1)
            _wafer_control "$nqn" ana "$2" --port "$number" --group "$group"
        done
        ;;
    esac
}

_set_attr() {
    printf %s "$1" >"$2"
    _wafer_changed "$2" "$1"
}
# Some tests write to the files of nvmet themselves.
echo() {
    local shell=$BASHPID
    builtin echo "$@"
    _wafer_changed "$(readlink "/proc/$shell/fd/1")" "$*"
}
_set_nvmet_ns_uuid() { # NSID UUID
    _set_attr "$2" "$NVMET_CFS/subsystems/$def_subsysnqn/namespaces/$1/device_uuid"
}
_create_nvmet_ns() {
    local nsid=1 uuid='' group=1 folder
    while (($# > 0)); do
        case $1 in
        --nsid) nsid=$2 ;;
        --uuid) uuid=$2 ;;
        --grpid) group=$2 ;;
        esac
        shift 2
    done
    folder="$NVMET_CFS/subsystems/$def_subsysnqn/namespaces/$nsid"
    mkdir -p "$folder"
    printf %s "$uuid" >"$folder/device_uuid"
    printf %s "$group" >"$folder/ana_grpid"
    printf 1 >"$folder/enable"
    _wafer_start "$def_subsysnqn"
}
_create_nvmet_port() {
    local port
    for ((port = 0; ; port++)); do [[ -e "$NVMET_CFS/ports/$port" ]] || break; done
    mkdir -p "$NVMET_CFS/ports/$port"/{subsystems,ana_groups/1}
    _set_attr "$nvme_trtype" "$NVMET_CFS/ports/$port/addr_trtype"
    _set_attr "$def_traddr" "$NVMET_CFS/ports/$port/addr_traddr"
    _set_attr $((def_trsvcid + port)) "$NVMET_CFS/ports/$port/addr_trsvcid"
    echo "$port"
}
_remove_nvmet_port() {
    rm -r "$NVMET_CFS/ports/$1"
}
_add_nvmet_subsys_to_port() {
    touch "$NVMET_CFS/ports/$1/subsystems/$2"
    _wafer_start "$2"
}
_remove_nvmet_subsystem_from_port() {
    rm "$NVMET_CFS/ports/$1/subsystems/$2"
    _wafer_start "$2"
}
_create_nvmet_subsystem() {
    local nqn="$def_subsysnqn" blkdev=''
    while (($# > 0)); do
        case $1 in
        --subsysnqn) nqn="$2" ;;
        --blkdev) blkdev="$2" ;;
        esac
        shift
    done
    mkdir -p "$NVMET_CFS/subsystems/$nqn/"{allowed_hosts,namespaces}
    [[ -n "$blkdev" ]] || return 0
    touch "$NVMET_CFS/subsystems/$nqn/has_blkdev"
    mkdir "$NVMET_CFS/subsystems/$nqn/namespaces/1"
    # The drive always has reservations.
    touch "$NVMET_CFS/subsystems/$nqn/namespaces/1/"{resv_enable,enable}
}
_remove_nvmet_subsystem() {
    _wafer_stop "$1"
    rm -r "$NVMET_CFS/subsystems/$1"
}
_add_nvmet_allow_hosts() {
    touch "$NVMET_CFS/subsystems/$1/allowed_hosts/$2"
    _wafer_hosts "$1"
}
_create_nvmet_host() {
    mkdir -p "$NVMET_CFS/hosts/$2"
    _add_nvmet_allow_hosts "$1" "$2"
    [[ -z "$3" ]] || _set_attr "$3" "$NVMET_CFS/hosts/$2/dhchap_key"
    [[ -z "$4" ]] || _set_attr "$4" "$NVMET_CFS/hosts/$2/dhchap_ctrl_key"
}
_remove_nvmet_host() {
    rm -r "$NVMET_CFS/hosts/$1"
}
