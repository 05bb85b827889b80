#!/usr/bin/env bash
# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Show a fleet's life: demo/fleet.yml on the newest ansible-core that this machine can run. The proxies are Squid where it
# is installed, else proxy.py.
set -euo pipefail
cd "$(dirname "$0")/.."

name=newest
tools/python.sh $name >/dev/null || name=oldest
tools/venv.sh $name
PATH=$PWD/.venv/$name/bin:$PATH:/usr/sbin

scratch=$(mktemp -d)
trap 'kill "$site"; rm -rf "$scratch"' EXIT
exec 3< <(exec python demo/site.py)
site=$!
read -r url <&3

export ANSIBLE_HOME=$PWD/.ansible ANSIBLE_COLLECTIONS_PATH=$PWD/.ansible/tree
export ANSIBLE_CALLBACK_RESULT_FORMAT=yaml ANSIBLE_NOCOWS=true
echo "ansible-core $(python -c 'from ansible.release import __version__; print(__version__)'); proxies by $(squid -v 2>/dev/null | sed -n 1p || echo proxy.py)"
start=$SECONDS
ansible-playbook -i localhost, demo/fleet.yml -e "demo_site=$url" -e "demo_folder=$scratch"

if grep -laFsf <(echo "$scratch") /proc/[0-9]*/cmdline; then
    echo "these processes were left behind"
    exit 1
fi
echo "That was a fleet's life, in $((SECONDS - start)) seconds. No proxy is left, and no process."
