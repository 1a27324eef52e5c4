# xNVMe's tests, run by its own runner, on this machine instead of one that it reaches over a network.
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
    unit $part 2400 python3 -m pytest --config /tmp/cijoe.toml --output /tmp/cijoe-$part -p no:cacheprovider --timeout=120 \
        --report-log=$RESULTS/$part.jsonl -q -rfE tests/$part
done
