#!/usr/bin/env bash
# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Run every stage of `make test`, whatever became of the one before, and sum up. What this machine lacks is shown in a
# banner; it is a failure when CI is set.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

lacking=()
tools/packages.sh squid shellcheck || lacking+=("Squid or shellcheck: the tests that need them do not run")
kubernetes=(kubernetes)
tools/cluster.sh possible &>/dev/null || {
    lacking+=("Debian 11 or 12, or root, for the Kubernetes test cluster (EGRESS_TEST_KUBERNETES_KUBECONFIG may name the
!!! kubeconfig of a cluster of your own): no kubernetes")
    kubernetes=()
}
newest=(lint unit "${kubernetes[@]}" sanity molecule "${kubernetes[@]/#/molecule-}")
oldest=(unit-oldest "${kubernetes[@]/%/-oldest}" sanity-oldest)
tools/python.sh newest >/dev/null || { lacking+=("Python 3.12 or later (pyenv and uv can install one): no ${newest[*]}"); newest=(); }
tools/python.sh oldest >/dev/null || { lacking+=("Python 3.11 to 3.13: no ${oldest[*]}"); oldest=(); }

banner() {
    ((${#lacking[@]})) || return
    printf '%s\n' '' '!!!' "${lacking[@]/#/!!! This machine lacks }" '!!!'
}

banner
passed=() failed=()
for stage in "${newest[@]}" "${oldest[@]}"; do
    printf '\n=== %s\n' "$stage"
    start=$SECONDS
    if make --no-print-directory --keep-going "$stage"; then
        result=passed
        passed+=("$stage")
    else
        result=FAILED
        failed+=("$stage")
    fi
    printf -- '--- %s %s in %d s\n' "$stage" "$result" $((SECONDS - start))
done
banner

echo
if ((${#failed[@]})); then
    echo "make test: FAILED: ${failed[*]}"
    exit 1
elif [[ ${#lacking[@]} -gt 0 && -n ${CI:-} ]]; then
    echo "make test: FAILED: CI is set and the machine lacks something (above); passed: ${passed[*]}"
    exit 1
else
    echo "make test: passed in $SECONDS s: ${passed[*]}${lacking:+ (and not all was run: see above)}"
fi
