. /host/common.sh
# Two hosts on one subsystem. Without multipath, each has its own block devices for the same namespaces.
uname -r
modprobe -r nvme-tcp nvme-fabrics nvme nvme-core 2>/dev/null
check modprobe nvme-core multipath=N
check modprobe nvme-tcp
[ "$(cat /sys/module/nvme_core/parameters/multipath)" = N ] || fail "multipath is on"
HOST=nqn.2014-08.org.nvmexpress:uuid:
ID_A=aaaaaaaa-0000-4000-8000-00000000000a ID_B=bbbbbbbb-0000-4000-8000-00000000000b
controller() { # HOSTID: prints the controller of a host
    for c in /sys/class/nvme/nvme*; do
        [ "$(cat "$c/hostnqn" 2>/dev/null)" = "$HOST$1" ] && [ "$(cat "$c/state")" = live ] && { basename "$c"; return; }
    done
}
namespace() { # CONTROLLER NSID: waits for the block device of a namespace
    for _ in $(seq 100); do
        for d in /sys/class/nvme/"$1"/nvme*n*; do
            [ -e "$d" ] && [ "$(cat "$d/nsid" 2>/dev/null)" = "$2" ] && [ -b "/dev/$(basename "$d")" ] && { basename "$d"; return; }
        done
        sleep 0.1
    done
    echo missing
}
connect --hostnqn=$HOST$ID_A --hostid=$ID_A
connect --hostnqn=$HOST$ID_B --hostid=$ID_B
A=$(controller $ID_A) B=$(controller $ID_B)
[ -n "$A" ] && [ -n "$B" ] && [ "$A" != "$B" ] || fail "controllers of two hosts: '$A' and '$B'"
# Two namespaces, attached to both.
check nvme delete-ns "/dev/$A" -n 1
for n in 1 2; do
    check nvme create-ns "/dev/$A" -s 16384 -c 16384 -f 1 -m 1
    for c in "$A" "$B"; do
        check nvme attach-ns "/dev/$A" -n $n -c "$(nvme id-ctrl "/dev/$c" | sed -nE 's/^cntlid *: *//p')"
    done
done
for c in "$A" "$B"; do check nvme ns-rescan "/dev/$c"; done
A1=$(namespace "$A" 1) A2=$(namespace "$A" 2) B1=$(namespace "$B" 1) B2=$(namespace "$B" 2)
case "$A1 $A2 $B1 $B2" in *missing*) nvme list -v; fail "namespaces: $A1 $A2 $B1 $B2";; esac
ok "two hosts: $A has $A1 and $A2, $B has $B1 and $B2"

# --- reservations
head -c 4096 /dev/urandom >/tmp/page
put() { nvme write "/dev/$1" -s 0 -c 0 -z 4096 -d /tmp/page; }
get() { nvme read "/dev/$1" -s 0 -c 0 -z 4096 -d /tmp/read; }
report() { # FIELD=VALUE...: checks the reservation that both hosts read
    for d in "$A1" "$B1"; do
        nvme resv-report "/dev/$d" --eds >/tmp/report 2>&1 || { cat /tmp/report; fail "resv-report on $d"; }
        for want in "$@"; do
            grep -qiE "^ *${want%=*} *: *(0x)?${want#*=}( |\$)" /tmp/report || { cat /tmp/report; fail "resv-report on $d: no $want"; }
        done
    done
}
report regctl=0 rtype=0
check nvme resv-register "/dev/$A1" --nrkey=0xa --rrega=0
check nvme resv-register "/dev/$B1" --nrkey=0xb --rrega=0
report regctl=2 rtype=0 rkey=a rkey=b
refused "Reservation Conflict" nvme resv-acquire "/dev/$A1" --crkey=0xc --rtype=1 --racqa=0
check nvme resv-acquire "/dev/$A1" --crkey=0xa --rtype=1 --racqa=0
report regctl=2 rtype=1
check put "$A1"
refused "Reservation Conflict" put "$B1"
refused "Reservation Conflict" nvme resv-acquire "/dev/$B1" --crkey=0xb --rtype=1 --racqa=0
refused "Reservation Conflict" nvme format "/dev/$B" -n 1 -l 1 -f
check get "$B1"
cmp -s /tmp/page /tmp/read || fail "the other host reads something else"
check put "$B2"
# The kernel's block layer sees the reservation.
dd if=/tmp/page of="/dev/$B1" bs=4096 oflag=direct 2>/tmp/out && fail "dd wrote through a reservation"
check dd if=/tmp/page of="/dev/$A1" bs=4096 oflag=direct
# The other host preempts the reservation and the registration.
check nvme resv-acquire "/dev/$B1" --crkey=0xb --prkey=0xa --rtype=3 --racqa=1
report regctl=1 rtype=3 rkey=b
refused "Reservation Conflict" put "$A1"
check put "$B1"
nvme resv-notif-log "/dev/$A" >/tmp/notice 2>&1 || { cat /tmp/notice; fail "resv-notif-log"; }
grep -qiE "Log Page Type\s*: *1 " /tmp/notice ||
    { cat /tmp/notice; fail "no notice of the preempted registration"; }
check nvme resv-release "/dev/$B1" --crkey=0xb --rtype=3 --rrela=0
report regctl=1 rtype=0
check put "$A1"
check nvme resv-register "/dev/$B1" --crkey=0xb --rrega=1
report regctl=0 rtype=0
ok "nvme resv-register, resv-acquire, resv-report, resv-notif-log, resv-release by two hosts"

# --- Copy, within a namespace and from another
blocks() { nvme read "/dev/$1" -s "$2" -c 7 -z 32768 -d /tmp/copied; }
head -c 32768 /dev/urandom >/tmp/eight
check nvme write "/dev/$A1" -s 64 -c 7 -z 32768 -d /tmp/eight
to=0
for format in 0 1; do
    to=$((to + 100))
    check nvme copy "/dev/$A1" --format=$format --sdlba=$to --slbs=64,68 --blocks=3,3
    check blocks "$B1" $to
    cmp -s /tmp/eight /tmp/copied || fail "Copy of format $format"
done
# Formats 2 and 3 name a namespace; a host enables them in Host Behavior Support, which Linux refuses to its users.
printf '\000\000\000\000\014\000' >/tmp/behavior
head -c 506 /dev/zero >>/tmp/behavior
refused "Permission denied" nvme set-feature "/dev/$A" -f 0x16 -l 512 -d /tmp/behavior
for format in 2 3; do
    refused "Copy\|Invalid Field" nvme copy "/dev/$A2" --format=$format --sdlba=8 --slbs=64 --blocks=7 --snsids=1
done
check blocks "$A2" 8
head -c 32768 /dev/zero | cmp -s - /tmp/copied || fail "a refused Copy has copied"
ok "nvme copy --format=0 and 1; 2 and 3 refused, as Linux does not enable them"
disconnect
