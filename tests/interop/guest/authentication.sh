. /host/common.sh
# A host that must authenticate: every hash and group, both directions, changing keys.
uname -r
ID=cccccccc-0000-4000-8000-00000000000c
HOST=nqn.2014-08.org.nvmexpress:uuid:$ID
key() { nvme gen-dhchap-key --nqn="$HOST" "$@" || fail "gen-dhchap-key $*"; }
hosts() { # LINE...: replaces the server's list with this host and these keys
    printf '[[host]]\nnqn = "%s"\n' "$HOST" >/host/hosts.toml
    printf '%s\n' "$@" >>/host/hosts.toml
    ctl hosts hosts.toml
    [ ! -s /host/ctl.out ] || { cat /host/ctl.out; fail "wafer ctl hosts"; }
}
try() { nvme connect -t tcp -a $ADDRESS -s "$PORT" -n "$NQN" --hostnqn="$HOST" --hostid=$ID "$@"; }
enter() { check try "$@"; settle; }
never() { try "$@" >/tmp/out 2>&1 && { cat /tmp/out; fail "connected: $*"; }; true; }
used() { # HASH GROUP: checks what the kernel used last
    dmesg | grep "authenticated with hash" | tail -1 | grep -q "hash hmac($1) dhgroup $2\$" ||
        { dmesg | tail -3; fail "another hash or group than $1 and $2"; }
}
never
KEY=$(key) OTHER=$(key)
hosts "dhchap_key = \"$KEY\""
never
never --dhchap-secret="$OTHER"
enter --dhchap-secret="$KEY"
used sha256 null
DEV=$(device 1)
check fio --name=a --filename="/dev/$DEV" --direct=1 --ioengine=psync --rw=randwrite --bs=16k --size=2m --verify=crc32c
disconnect
ok "a host with its key connects, and only with it"
for m in 0 1 2 3; do
    case $m in 2) length=48 ;; 3) length=64 ;; *) length=32 ;; esac
    transformed=$(key --hmac=$m --key-length=$length)
    hosts "dhchap_key = \"$transformed\""
    enter --dhchap-secret="$transformed"
    disconnect
done
ok "keys of every length and hash"
for pair in sha384:null sha512:null sha256:ffdhe2048 sha384:ffdhe3072 sha512:ffdhe4096 sha256:ffdhe6144 sha512:ffdhe8192; do
    hash=${pair%:*} group=${pair#*:}
    hosts "dhchap_key = \"$KEY\"" "dhchap_hash = \"$hash\"" "dhchap_dhgroup = \"$group\""
    enter --dhchap-secret="$KEY"
    used "$hash" "$group"
    disconnect
done
ok "every hash and group"
hosts "dhchap_key = \"$KEY\""
never --dhchap-secret="$KEY" --dhchap-ctrl-secret="$OTHER"
hosts "dhchap_key = \"$KEY\"" "dhchap_ctrl_key = \"$OTHER\"" 'dhchap_dhgroup = "ffdhe2048"'
never --dhchap-secret="$KEY" --dhchap-ctrl-secret="$KEY"
enter --dhchap-secret="$KEY" --dhchap-ctrl-secret="$OTHER"
dmesg | tail -20 | grep -q "controller authenticated" || fail "the kernel has not authenticated the controller"
ok "both directions"
# Reauthentication, with new keys of host and controller.
again() { echo "$2" >"/sys/class/nvme/$CTRL/$1" || fail "$1"; }
count() { dmesg | grep -c "authenticated with hash"; }
before=$(count)
again dhchap_secret "$KEY"
NEW=$(key) NEWER=$(key)
hosts "dhchap_key = \"$NEW\"" "dhchap_ctrl_key = \"$OTHER\""
again dhchap_secret "$NEW"
hosts "dhchap_key = \"$NEW\"" "dhchap_ctrl_key = \"$NEWER\"" 'dhchap_hash = "sha512"'
again dhchap_ctrl_secret "$NEWER"
[ "$(count)" -ge $((before + 3)) ] || { dmesg | tail; fail "the kernel has not authenticated again"; }
DEV=$(device 1)
check fio --name=a --filename="/dev/$DEV" --direct=1 --ioengine=psync --rw=randwrite --bs=16k --size=2m --verify=crc32c
disconnect
ok "keys that change while the host is connected"
