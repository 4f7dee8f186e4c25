#!/bin/sh
# Builds the hosted stacks (docs/host.md) in build/stacks/bin. A stack that this machine cannot build is left out, with a
# sentence that says what would do.
#
#     build.sh PYTHON [STACK...]
set -eu
cd "$(dirname "$0")/../../.."
python=$1
shift
stacks=${*:-quinn noq quiche s2n-quic smoltcp ngtcp2 lwip aioquic cwndlab}
source=tools/stacks/hosted
bin=$PWD/build/stacks/bin
mkdir -p "$bin"
left_out=

leave_out() {
    left_out="$left_out
$1 is left out: $2"
}

# A crate of the workspace of stacks. What compiles first has nothing to do with the next one.
rust() {
    rm -f "$bin/cwndlab-stack-$1"
    if ! command -v cargo > /dev/null; then
        leave_out "$1" "there is no Rust; https://rustup.rs installs it"
    elif cargo build --release --locked --manifest-path "$source/Cargo.toml" --target-dir build/stacks/hosted \
        --package "cwndlab-stack-$1"; then
        install -m 755 "build/stacks/hosted/release/cwndlab-stack-$1" "$bin"
    else
        leave_out "$1" "its crate does not compile"
    fi
}

# A program in C with the libraries that pkg-config or the linker finds.
c() {
    name=$1
    packages=$2
    shift 2
    if ! command -v "${CC:-cc}" > /dev/null; then
        leave_out "$name" "there is no C compiler; on Debian: apt-get install gcc"
    elif ! "${CC:-cc}" -O2 -Wall -D_GNU_SOURCE -I/usr/include/lwip -rdynamic -o "$bin/cwndlab-stack-$name" "$source/c/$name.c" \
        "$source/c/cwndlab_stack.c" "$@" 2> "$bin/../$name.log"; then
        rm -f "$bin/cwndlab-stack-$name"
        leave_out "$name" "it does not compile (build/stacks/$name.log); on Debian 12: apt-get install $packages"
    fi
}

for stack in $stacks; do
    case $stack in
    quinn | noq | smoltcp | cwndlab) rust "$stack" ;;
    quiche | s2n-quic)
        if command -v cmake > /dev/null && command -v c++ > /dev/null; then
            rust "$stack"
        else
            leave_out "$stack" "its TLS takes cmake and a C++ compiler; on Debian: apt-get install cmake g++ libclang-dev"
        fi
        ;;
    ngtcp2) c ngtcp2 'libngtcp2-dev libngtcp2-crypto-gnutls-dev libgnutls28-dev' -lngtcp2_crypto_gnutls -lngtcp2 -lgnutls ;;
    lwip) c lwip liblwip-dev -llwip ;;
    aioquic)
        rm -f "$bin/cwndlab-stack-aioquic"
        if { test -x build/stacks/venv/bin/python || "$python" -m venv build/stacks/venv; } &&
            build/stacks/venv/bin/python -m pip install --quiet --disable-pip-version-check aioquic==1.7.2; then
            printf '#!/bin/sh\nexec "%s/build/stacks/venv/bin/python" "%s/%s/python/cwndlab-stack-aioquic"\n' "$PWD" "$PWD" \
                "$source" > "$bin/cwndlab-stack-aioquic"
            chmod 755 "$bin/cwndlab-stack-aioquic"
        else
            leave_out aioquic "its package cannot be installed"
        fi
        ;;
    *)
        echo "build.sh: no stack is called '$stack'" >&2
        exit 2
        ;;
    esac
done
# Those that were asked for by name have to be there.
status=0
test -z "$left_out" || test $# -eq 0 || status=1
echo "in $bin: $(cd "$bin" && ls | sed -n 's/^cwndlab-stack-//p' | tr '\n' ' ')$left_out"
exit $status
