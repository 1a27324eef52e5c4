# xNVMe's tests, run by its own runner, locally instead of over a network.
# xNVMe looks for a namespace's limits below its controller. With multipath it finds none and assumes 512-byte pages.
modprobe -rq nvme_tcp nvme nvme_core
modprobe nvme_core multipath=N
target_up || exit 1
ldconfig
cd /src/xnvme/cijoe || exit 1
echo 64 >/proc/sys/vm/nr_hugepages
mkdir -p /mnt/huge && mount -t hugetlbfs hugetlbfs /mnt/huge
cat >/tmp/cijoe.toml <<TOML
[os]
name = "debian"
version = "trixie"
[hugetlbfs]
mount_point = "/mnt/huge"
[[devices]]
uri = "$NS"
nsid = 1
labels = ["dev", "bdev", "nvm", "scc", "write_zeroes", "write_uncor", "large_mdts", "log_health_ns", "idfy_cs", "fdp"]
driver_attachment = "kernel"
[[devices]]
uri = "$GENERIC"
nsid = 1
labels = ["dev", "cdev", "nvm", "scc", "write_zeroes", "write_uncor", "large_mdts", "log_health_ns", "idfy_cs", "fdp"]
driver_attachment = "kernel"
TOML
export PYTHONPATH=/src/xnvme.site
for part in logic tools examples; do
    unit $part 5400 python3 -m pytest --config /tmp/cijoe.toml --output /tmp/cijoe-$part -p no:cacheprovider --timeout=120 \
        --report-log=$RESULTS/$part.jsonl -q -rfE tests/$part
    # Keeps the output of each test's commands.
    [ ! -d /tmp/cijoe-$part ] || tar -C /tmp -czf $RESULTS/$part.tar.gz cijoe-$part
done
