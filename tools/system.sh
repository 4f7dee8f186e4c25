#!/usr/bin/env bash
# The optional system packages of tests and of optional parts, by their Debian names. As root on Debian this script
# installs the missing packages; elsewhere it lists them. It never fails: tests without their packages are skipped.
set -u

# program or pkg-config module, package, purpose
packages_by_program='
clang        clang             the eBPF program of the kernel datapath
llvm-strip   llvm              the eBPF program of the kernel datapath
valgrind     valgrind          the count of instructions per packet
llvm-symbolizer llvm           the count of instructions per packet
pkg-config   pkg-config        the eBPF program of the kernel datapath
=libelf      libelf-dev        the eBPF program of the kernel datapath
patchelf     patchelf          the Python module of the kernel datapath: without it maturin prints a warning
=zlib        zlib1g-dev        the eBPF program of the kernel datapath
ip           iproute2          tests of the emulator
setpriv      util-linux        tests of the emulator without root
iperf3       iperf3            tests of programs over the emulator
nft          nftables          tests of downloads behind an emulated bottleneck
curl         curl              tests of the measuring server
mosquitto    mosquitto         the example of real applications
openssl      openssl           the example of real applications
chromium     chromium          tests of the pages
firefox      firefox-esr       tests of the playground
tshark       tshark            tests of the captures
zsh          zsh               tests of the documented commands
x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64-win32 the measuring client for Windows
wine64       wine64            tests of the measuring client for Windows
'

has() {
    case $1 in
    =*) pkg-config --exists "${1#=}" 2>/dev/null ;;
    *) PATH=$PATH:/usr/sbin:/sbin:/usr/lib/wine command -v "$1" >/dev/null ;;
    esac
}

missing() {
    while read -r program package purpose; do
        [ -z "$program" ] || has "$program" || echo "$package $purpose"
    done <<<"$packages_by_program"
}

# Rust's standard library for Windows, where rustup has none yet.
windows=x86_64-pc-windows-gnu
if command -v rustup >/dev/null && ! rustup target list --installed | grep -qx $windows; then
    timeout 120 rustup target add $windows >/dev/null 2>&1 \
        || echo "rustup cannot add the target $windows: the test of the measuring client for Windows is skipped"
fi

lacking=$(missing)
[ -n "$lacking" ] || exit 0
packages=$(cut -d' ' -f1 <<<"$lacking" | sort -u | tr '\n' ' ')
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing $packages"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # a list of names
    { apt-get update -qq; apt-get install -y -qq --no-install-recommends $packages; } >/dev/null 2>&1 \
        || for package in $packages; do apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1; done
    lacking=$(missing)
fi
[ -z "$lacking" ] || { echo 'missing packages (tests that need them are skipped):'; sed 's/ /: /; s/^/    /' <<<"$lacking"; }
