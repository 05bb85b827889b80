#!/usr/bin/env bash
# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Print the real path of the Python to use for an environment: `python.sh newest` or `python.sh oldest`; nothing and 1
# if there is none. `python.sh all` prints one line for each version there is.
#
# A name on PATH may be a pyenv shim, which exits 127 unless its version is selected: so each candidate is run.
set -euo pipefail

case $1 in
    newest) versions=(3.14 3.13 3.12) ;;  # ansible-core 2.21
    oldest) versions=(3.11 3.12 3.13) ;;  # ansible-core 2.19
    all) versions=(3.14 3.13 3.12 3.11 3.10 3.9) ;;
    *) echo "usage: $0 newest|oldest|all" >&2; exit 2 ;;
esac

find_python() {
    local candidate
    for candidate in $(type -ap "python$1") \
        "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python \
        "${XDG_DATA_HOME:-$HOME/.local/share}/uv/python/cpython-$1".*/bin/python; do
        # base_prefix: not the virtual environment that happens to be active
        "$candidate" -I -c 'import sys; print("{0}/bin/python{1}.{2}".format(sys.base_prefix, *sys.version_info))' \
            2>/dev/null && return
    done
    return 1
}

found=1
for version in "${versions[@]}"; do
    if find_python "$version"; then
        found=0
        [[ $1 == all ]] || break
    fi
done
exit $found
