# nvme-cli's tests with a device, one module at a time. The one that creates as many namespaces as possible comes last.
export PATH=/src/nvme-cli/.build:$PATH
target_up || exit 1
cd /src/nvme-cli || exit 1
modules=$(cd tests/e2e && ls *_test.py | grep -v 'simple_template\|create_max_ns' | sed 's/\.py//')
for module in $modules nvme_create_max_ns_test; do
    unit $module 900 python3 tests/nvme-cli-e2e --controller "$CTRL" --ns1 "$NS" --no-validate-pci-device --log-dir /tmp/e2e \
        --nvme-bin /src/nvme-cli/.build/nvme "tests.e2e.$module"
done
