#!/usr/bin/env bash
# Builds the measuring client for Windows: `tools/windows_client.sh FOLDER` writes FOLDER/cwndlab-measure.exe. A second
# argument is the profile of cargo, that of the playground by default, which makes it small. It takes rustup's target
# x86_64-pc-windows-gnu and Debian's MinGW.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:?name the folder of the program}
profile=${2:-playground}
target=x86_64-pc-windows-gnu
compiler=x86_64-w64-mingw32-gcc

libdir=$(rustc --print target-libdir --target $target 2>/dev/null) && ls "$libdir"/libstd-*.rlib >/dev/null 2>&1 \
    || { echo "make: rustc has no target $target: rustup target add $target" >&2; exit 1; }
command -v $compiler >/dev/null \
    || { echo "make: there is no $compiler: apt-get install gcc-mingw-w64-x86-64-win32" >&2; exit 1; }

cargo build --quiet --locked --package cwndlab-fetch --profile "$profile" --target $target
mkdir -p "$folder"
cp "${CARGO_TARGET_DIR:-$PWD/target}/$target/$profile/cwndlab-measure.exe" "$folder/"
