#!/usr/bin/env bash
# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Make the virtual environment .venv/NAME (newest, oldest) from requirements/NAME.txt; do nothing if it is up to date.
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1
if ! python=$(tools/python.sh "$name"); then
    echo "no Python for '$name' is installed here (tools/python.sh says which versions it looks for, and where)" >&2
    exit 1
fi

mkdir -p .venv
exec 9>".venv/.$name.lock"
flock 9

stamp=.venv/$name/.made-from
want=$(echo "$PWD $python"; cat "requirements/$name.txt")
[[ -f $stamp && $want == "$(<"$stamp")" ]] && exit 0

echo "making .venv/$name with $python"
"$python" -c 'import ensurepip' 2>/dev/null || tools/packages.sh "$(basename "$python")-venv"
"$python" -m venv --clear ".venv/$name"
pip=(".venv/$name/bin/python" -m pip --disable-pip-version-check)
"${pip[@]}" install -qq --no-deps -r "requirements/$name.txt"
"${pip[@]}" check >/dev/null
echo "$want" >"$stamp"
