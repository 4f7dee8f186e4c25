#!/usr/bin/env bash
# The servers of `make interop`, as Debian packages, and the clients, from PyPI, in a virtual environment of their own.
# Arguments: the Python that makes it, and its folder.
set -eu

packages='mosquitto rabbitmq-server prosody dcmtk nginx-light tshark'
missing=$(for package in $packages; do
    dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || echo "$package"
done)
if [ -n "$missing" ]; then
    if [ "$(id -u)" != 0 ]; then
        echo "make: as root: apt-get install $missing" >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086 # a list of names
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
test -x "$2/bin/python" || "$1" -m venv "$2"
"$2/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$(dirname "$0")/requirements.txt"
