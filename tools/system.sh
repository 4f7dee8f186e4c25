#!/usr/bin/env bash
# What tests and the optional parts take from the system, by Debian's packages. As root on Debian it installs what is
# missing; elsewhere it names it. It never fails: what is not there is skipped, and the tests say so.
set -u

# program or pkg-config module, package, what for
wanted='
clang        clang             the program inside the kernel
llvm-strip   llvm              the program inside the kernel
valgrind     valgrind          the count of instructions per packet
llvm-symbolizer llvm           the count of instructions per packet
pkg-config   pkg-config        the program inside the kernel
=libelf      libelf-dev        the program inside the kernel
=zlib        zlib1g-dev        the program inside the kernel
ip           iproute2          tests of the emulator
setpriv      util-linux        tests of the emulator without root
iperf3       iperf3            tests of programs over the emulator
curl         curl              tests of the measuring server
mosquitto    mosquitto         the example of real applications
openssl      openssl           the example of real applications
chromium     chromium          tests of the pages
tshark       tshark            tests of the captures
zsh          zsh               tests of the documented commands
'

has() {
    case $1 in
    =*) pkg-config --exists "${1#=}" 2>/dev/null ;;
    *) PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null ;;
    esac
}

missing() {
    while read -r thing package purpose; do
        [ -z "$thing" ] || has "$thing" || echo "$package $purpose"
    done <<<"$wanted"
}

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
[ -z "$lacking" ] || { echo 'not on this machine (tests that need it are skipped):'; sed 's/ /: /; s/^/    /' <<<"$lacking"; }
