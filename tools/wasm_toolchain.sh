#!/usr/bin/env bash
# Builds crates/bindings/wasm for WebAssembly: `tools/wasm_toolchain.sh FOLDER` writes FOLDER/cwndlab_wasm.wasm.
#
# It takes the target wasm32-unknown-unknown of rustup where it is installed. Elsewhere, on Debian, it unpacks Debian's
# Rust for WebAssembly into build/wasm-toolchain, without installing it: a second cargo on the PATH would take the place
# of the first. That Rust has the sources of the standard library, which cargo compiles.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:?name the folder of the module}
target=wasm32-unknown-unknown
place=$PWD/build/wasm-toolchain
root=$place/root
packages='rustc-web cargo-web rust-web-src lld-19'
# Instructions that every browser of the last five years has.
features='-C target-feature=+bulk-memory,+sign-ext,+nontrapping-fptoint'

has_target() {
    libdir=$(rustc --print target-libdir --target $target 2>/dev/null) && ls "$libdir"/libstd-*.rlib >/dev/null 2>&1
}

missing() {
    echo "make: $1" >&2
    echo "make: the playground takes a Rust for WebAssembly: rustup target add $target" >&2
    exit 1
}

# The packages, and what they depend on that this system lacks; the standard library always, beside which rustc looks
# for its sources.
unpack() {
    [ -e "$place/.unpacked" ] && return
    command -v apt-get >/dev/null && command -v dpkg >/dev/null \
        || missing "rustc has no target $target, and this is no Debian, whose packages have it"
    apt-cache show $packages >/dev/null 2>&1 || { apt-get update -qq >/dev/null 2>&1 || true; }
    apt-cache show $packages >/dev/null 2>&1 \
        || missing "rustc has no target $target, and apt-get finds no package of: $packages"
    local needed wanted=''
    needed=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
        --no-enhances $packages | grep '^[a-z0-9]' | sort -u)
    for package in $needed; do
        case $package in
        rustc-web | cargo-web | rust-web-src | lld-19 | libstd-rust-web*) wanted+=" $package" ;;
        lib*) dpkg-query --show --showformat='${db:Status-Status}\n' "$package" 2>/dev/null | grep -q '^installed$' \
            || wanted+=" $package" ;;
        esac
    done
    rm -rf "$place"
    mkdir -p "$place/packages" "$root"
    (cd "$place/packages" && apt-get download $wanted >/dev/null 2>&1) || missing "apt-get cannot download:$wanted"
    # Of the sources of Rust, those of the standard library.
    for package in "$place"/packages/*.deb; do
        case $package in
        */rust-web-src_*)
            dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --wildcards './usr/lib/*' './usr/src/*/library/*'
            ;;
        *) dpkg-deb --extract "$package" "$root" ;;
        esac
    done
    rm -rf "$place/packages"
    touch "$place/.unpacked"
}

build() {
    cargo=$1
    shift
    CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target} RUSTFLAGS="$RUSTFLAGS" "$cargo" build --locked --quiet \
        --package cwndlab-wasm --profile playground --target $target "$@"
    mkdir -p "$folder"
    cp "${CARGO_TARGET_DIR:-$PWD/target}/$target/playground/cwndlab_wasm.wasm" "$folder/cwndlab_wasm.wasm"
}

export RUSTFLAGS=$features
if has_target; then
    build cargo
else
    unpack
    export PATH=$root/usr/bin:$PATH
    export LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu:$root/usr/lib/aarch64-linux-gnu:$root/usr/lib/llvm-19/lib
    export RUSTC=$root/usr/bin/rustc RUSTC_BOOTSTRAP=1
    export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$root/usr/bin/wasm-ld-19
    export RUSTFLAGS="-C linker-flavor=wasm-ld $features"
    build "$root/usr/bin/cargo" -Z build-std=std,panic_abort
fi
