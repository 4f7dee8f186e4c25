#!/bin/sh
# Builds the hosted stacks (docs/host.md) in build/stacks/bin. A stack that this machine cannot build is left out, with a
# sentence that says what would do.
#
#     build.sh PYTHON [STACK...]
set -eu
cd "$(dirname "$0")/../../.."
python=$1
shift
stacks=${*:-quinn noq quiche s2n-quic smoltcp ngtcp2 lwip aioquic quic-go cwndlab}
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

# The first Go that is here and new enough: 1.26 has random numbers of a seed for all of its cryptography.
recent_go() {
    for go in go /usr/local/go/bin/go; do
        minor=$("$go" env GOVERSION 2> /dev/null | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
        if test "${minor:-0}" -ge 26; then
            echo "$go"
            return
        fi
    done
}

# A copy of the adapter with the sources of its modules, to which the files of _module are added. The program is a test:
# hosted_test.go says why.
quic_go() {
    folder=build/stacks/quic-go
    program=$bin/cwndlab-stack-quic-go
    rm -rf "$program" "$folder"
    go=$(recent_go)
    if test -z "$go"; then
        leave_out quic-go "it takes Go 1.26, and Debian 12 has 1.19; https://go.dev/dl has it for /usr/local"
        return
    fi
    mkdir -p "$folder"
    cp "$source/quic-go/"*.go "$source/quic-go/"go.* "$folder"
    version=$(sed -n 's|^require github.com/quic-go/quic-go v||p' "$folder/go.mod")
    if ! "$go" -C "$folder" mod vendor 2> "$folder.log"; then
        leave_out quic-go "its modules cannot be fetched (build/stacks/quic-go.log)"
        return
    fi
    cp -r "$source/quic-go/_module/." "$folder/vendor/github.com/quic-go/quic-go"
    if ! CGO_ENABLED=0 "$go" -C "$folder" test -c -mod=vendor -trimpath -buildvcs=false -o "$program" -ldflags \
        "-X cwndlab-stack-quic-go.version=$version -X github.com/quic-go/quic-go/qlogwriter.quicGoVersion=v$version" . \
        2> "$folder.log"; then
        leave_out quic-go "it does not compile (build/stacks/quic-go.log)"
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
    quic-go) quic_go ;;
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
