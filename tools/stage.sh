#!/usr/bin/env bash
# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Copy what belongs to the collection (tracked, or new and not ignored) to DIR/ansible_collections/crawl/egress.
# ansible-test wants this real path; a copy also keeps caches and environments away from the tools.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$1/ansible_collections/crawl/egress
mkdir -p "$target"
git ls-files -z --cached --others --exclude-standard --deduplicate |
    while IFS= read -r -d '' file; do
        if [[ -e $file ]]; then printf '%s\0' "$file"; fi # deleted, but not yet committed
    done |
    xargs -0 cp --parents --no-dereference -t "$target"
