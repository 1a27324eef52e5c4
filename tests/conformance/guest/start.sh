# The first step in the guest: switches from the initial file system to the image of tests/conformance/build-system.
modprobe -aq virtio_blk ext4
for _ in $(seq 50); do [ -b /dev/vda ] && break; sleep 0.2; done
mount -t ext4 /dev/vda /mnt || exit 1
for folder in dev proc sys host; do mount --rbind /$folder /mnt/$folder || exit 1; done
mount -t tmpfs tmp /mnt/tmp
mount -t tmpfs run /mnt/run
cp /etc/nvme/host* /mnt/etc/nvme/
exec chroot /mnt /usr/bin/env -i PATH=/src/fio:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root LC_ALL=C.UTF-8 PYTHONUNBUFFERED=1 \
    TERM=dumb SYSTEMD_IGNORE_CHROOT=1 bash /host/main.sh
