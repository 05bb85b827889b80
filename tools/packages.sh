#!/usr/bin/env bash
# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# See to it that the named Debian packages are installed. Root installs what is missing; anybody else is told.
set -euo pipefail

missing=()
for package in "$@"; do
    PATH=$PATH:/usr/sbin:/sbin command -v "$package" >/dev/null || dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
((${#missing[@]})) || exit 0

if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
    echo "missing Debian package(s): ${missing[*]}  (as root: apt-get install ${missing[*]})" >&2
    exit 1
fi

echo "installing Debian package(s): ${missing[*]}"
# No package may start its service: a squid on every address would answer for the proxies under test.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod 755 $policy
fi
export DEBIAN_FRONTEND=noninteractive
apt() { apt-get -qq -o DPkg::Lock::Timeout=300 "$@" >/dev/null; }
apt update
apt install -y --no-install-recommends "${missing[@]}"

if [[ " ${missing[*]} " == *" squid "* ]]; then
    update-rc.d squid disable >/dev/null 2>&1 || true # nor may it start at the next boot
    if awk '$2 ~ /^0+:0C38$/ && $4 == "0A" { found = 1 } END { exit !found }' /proc/net/tcp /proc/net/tcp6; then
        echo "something listens on port 3128 of every address, as Debian's squid service does: stop it" >&2
        exit 1
    fi
fi
