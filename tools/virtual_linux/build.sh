#!/usr/bin/env bash
# Builds User-mode Linux with virtual time: build.sh FOLDER [SOURCE]. The program is FOLDER/linux.
#
# SOURCE is an archive of a kernel, such as /usr/src/linux-source-6.1.tar.xz, or its unpacked folder, which is changed. By
# default it is the newest archive of Debian's package linux-source-*, which this script downloads where none is
# installed; other kernels are built by the same call with their archive. It takes flex, bison, bc, a C compiler, make
# and xz, which it installs as root on Debian.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=$(mkdir -p "$1" && cd "$1" && pwd)
source=${2:-}
fail() {
    echo "linux: $1" >&2
    exit 1
}

for program in flex bison bc gcc make xz; do
    if ! command -v "$program" >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq flex bison bc gcc make xz-utils >/dev/null 2>&1 || true
    fi
    command -v "$program" >/dev/null || fail "$program is missing; on Debian: apt-get install flex bison bc gcc make xz-utils"
done

if [ -z "$source" ]; then
    source=$(find /usr/src "$folder/package" -name 'linux-source-*.tar.xz' 2>/dev/null | sort -V | tail -1)
fi
if [ -z "$source" ]; then
    command -v apt-get >/dev/null || fail "no kernel; name an archive: make linux SOURCE=linux-6.12.tar.xz"
    package=$(apt-cache depends linux-source | sed -n 's/.*Depends: \(linux-source-[0-9.]*\)$/\1/p' | head -1)
    [ -n "$package" ] || fail "apt-get knows no package linux-source; apt-get update, or SOURCE=ARCHIVE"
    (cd "$folder" && apt-get download -qq "$package" && dpkg-deb -x "$package"_*.deb package)
    source=$(find "$folder/package" -name 'linux-source-*.tar.xz' | sort -V | tail -1)
fi

if [ -d "$source" ]; then
    tree=$(cd "$source" && pwd)
else
    tree=$folder/$(basename "$source" .tar.xz)
    [ -f "$tree/Makefile" ] || { mkdir -p "$tree" && tar -xf "$source" -C "$tree" --strip-components=1; }
fi
cd "$tree"
[ -d arch/um ] || fail "$tree is not a source of Linux with ARCH=um"

# A tick of 1 ms, as on servers. The option has no prompt, so that its default is changed.
sed -i '/^config HZ$/,/^$/s/default [0-9]*/default 1000/' arch/um/Kconfig

# The clock has steps of a nanosecond: with steps of 256, timers expire before they are due, and are set once more.
sed -i 's/^#define TIMER_MULTIPLIER .*/#define TIMER_MULTIPLIER 1/' arch/um/include/linux/time-internal.h

# A host of the simulator (hosted/hosted.c): the device, where the clock asks it, and its first process.
cp "$here/hosted/hosted.c" arch/um/drivers/hosted.c
grep -q '^obj-y += hosted.o$' arch/um/drivers/Makefile || sed -i '/^obj-y := stdio_console.o/a obj-y += hosted.o' arch/um/drivers/Makefile
if ! grep -q hosted_wait arch/um/kernel/time.c; then
    sed -i -e '/^#include <shared\/init.h>$/a bool hosted_wait(u64 present, u64 until, bool is_idle);' \
        -e 's/^\t\ttime_travel_ext_wait(idle);$/&\n\telse if (hosted_wait(time_travel_time, ns, idle))\n\t\treturn;/' arch/um/kernel/time.c
fi
[ "$(grep -c hosted_wait arch/um/kernel/time.c)" = 2 ] || fail "arch/um/kernel/time.c of this kernel is unknown"
gcc -Os -static -nostdlib -fno-asynchronous-unwind-tables -fno-stack-protector -include tools/include/nolibc/nolibc.h \
    -o "$folder/init" "$here/hosted/init.c" -lgcc
cat >"$folder/initramfs" <<EOF
dir /dev 0755 0 0
nod /dev/console 0600 0 0 c 5 1
nod /dev/hosted 0600 0 0 c 10 240
file /hosted $folder/init 0755 0 0
EOF

# As little as a host needs: the build takes a minute or two.
with='EXPERT 64BIT PRINTK BUG MULTIUSER SYSCTL PROC_FS PROC_SYSCTL BINFMT_ELF BLK_DEV_INITRD RD_GZIP POSIX_TIMERS
HIGH_RES_TIMERS NO_HZ_IDLE CC_OPTIMIZE_FOR_PERFORMANCE INIT_STACK_NONE UML_TIME_TRAVEL_SUPPORT NULL_CHAN NET INET
TCP_CONG_ADVANCED TCP_CONG_CUBIC TCP_CONG_BBR TCP_CONG_DCTCP TCP_CONG_VEGAS TCP_CONG_BIC TCP_CONG_WESTWOOD TCP_CONG_HTCP
TCP_CONG_HSTCP TCP_CONG_HYBLA TCP_CONG_SCALABLE TCP_CONG_VENO TCP_CONG_YEAH TCP_CONG_ILLINOIS TCP_CONG_NV TCP_CONG_LP
TCP_CONG_CDG'
without='CC_OPTIMIZE_FOR_SIZE HZ_PERIODIC INIT_STACK_ALL_ZERO BLOCK IPV6 WIRELESS WLAN ETHERNET NETDEVICES IO_URING AIO
ELF_CORE COREDUMP INPUT UNIX98_PTYS RD_BZIP2 RD_LZMA RD_XZ RD_LZO RD_LZ4 RD_ZSTD KALLSYMS NETWORK_FILESYSTEMS FW_LOADER
PTP_1588_CLOCK ETHTOOL_NETLINK VM_EVENT_COUNTERS SIGNALFD TIMERFD EVENTFD FHANDLE SYSFS_SYSCALL ADVISE_SYSCALLS
MEMBARRIER PROC_PAGE_MONITOR PPS'
make -s ARCH=um allnoconfig
# shellcheck disable=SC2046,SC2086 # lists of options
scripts/config $(printf -- '-d %s ' $without) $(printf -- '-e %s ' $with) --set-str INITRAMFS_SOURCE "$folder/initramfs"
make -s ARCH=um olddefconfig
for option in $with; do
    grep -q "^CONFIG_$option=y" .config || fail "this kernel has no CONFIG_$option"
done
grep -q '^CONFIG_HZ=1000$' .config || fail "the tick of this kernel is not 1 ms"
make -s ARCH=um -j"$(nproc)" linux
cp linux "$folder/linux"
echo "$folder/linux: Linux $("$folder/linux" --version)"
