#!/usr/bin/env bash
# Builds User-mode Linux with virtual time: build.sh FOLDER [SOURCE]. The program is FOLDER/linux.
#
# SOURCE is an archive of a kernel, such as /usr/src/linux-source-6.1.tar.xz, or its unpacked folder. By default it is the
# newest archive of Debian's package linux-source-*, which this script downloads where none is installed; other kernels
# are built by the same call with their archive. It takes flex, bison, bc, a C compiler, make and xz.
set -eu

folder=$(mkdir -p "$1" && cd "$1" && pwd)
source=${2:-}
fail() {
    echo "virtual-linux: $1" >&2
    exit 1
}

for program in flex bison bc gcc make xz; do
    command -v "$program" >/dev/null || fail "$program is missing; on Debian: apt-get install flex bison bc gcc make xz-utils"
done

if [ -z "$source" ]; then
    source=$(find /usr/src "$folder/package" -name 'linux-source-*.tar.xz' 2>/dev/null | sort -V | tail -1)
fi
if [ -z "$source" ]; then
    command -v apt-get >/dev/null || fail "no kernel; name an archive: make virtual-linux SOURCE=linux-6.12.tar.xz"
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
options='UML_TIME_TRAVEL_SUPPORT HOSTFS TMPFS PROC_FS SYSFS NET_NS VETH NET_SCHED NET_SCH_NETEM
TCP_CONG_ADVANCED TCP_CONG_CUBIC TCP_CONG_BBR TCP_CONG_DCTCP TCP_CONG_VEGAS'
make -s ARCH=um defconfig
# shellcheck disable=SC2046,SC2086 # a list of options
scripts/config $(printf -- '-e %s ' $options)
make -s ARCH=um olddefconfig
for option in $options; do
    grep -q "^CONFIG_$option=y" .config || fail "this kernel has no CONFIG_$option"
done
grep -q '^CONFIG_HZ=1000$' .config || fail "the tick of this kernel is not 1 ms"
make -s ARCH=um -j"$(nproc)" linux
cp linux "$folder/linux"
echo "$folder/linux: Linux $("$folder/linux" --version)"
