#!/usr/bin/env bash
# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# For cluster.sh, which passes its folder: two images, out of Debian's files and without any registry.
#   localhost/pause:1   what holds a Pod's namespaces
#   localhost/proxy:1   Squid as the machine has it (paths as in Debian, user proxy = 13), and a shell
set -euo pipefail
folder=$1
squid=$(dpkg-query -W -f '${Version}' squid)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# archive ROOT NAME CONFIG FILE: ROOT as an image of one layer, in the form of `docker save`
archive() {
    local image
    image=$(mktemp -d -p "$scratch")
    tar -C "$1" --numeric-owner --owner=0 --group=0 --mtime=@0 --sort=name -cf "$image/layer.tar" .
    cat >"$image/config.json" <<EOF
{"os": "linux", "architecture": "$(dpkg --print-architecture)", "created": "1970-01-01T00:00:00Z", "config": $3,
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$(sha256sum <"$image/layer.tar" | cut -d' ' -f1)"]}}
EOF
    echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"localhost/$2:1\"], \"Layers\": [\"layer.tar\"]}]" >"$image/manifest.json"
    tar -C "$image" -cf "$4.part" manifest.json config.json layer.tar
    mv "$4.part" "$4"
}

root=$scratch/pause
install -D "$folder/bin/busybox" "$root/busybox"
archive "$root" pause '{"Entrypoint": ["/busybox", "sleep", "1000000000"]}' "$folder/images/pause.tar"

root=$scratch/proxy
# add FILE...: copy programs, and the libraries that they are linked with
add() {
    local file
    for file in "$@" $(ldd "$@" | grep -o '/[^ :]*\.so[^ :]*'); do
        [[ -e $root$file ]] || install -D "$(readlink -f "$file")" "$root$file"
    done
}
add /usr/sbin/squid /usr/lib/squid/{basic_ncsa_auth,log_file_daemon,unlinkd}
mkdir -p "$root"/{bin,dev,etc,proc,sys,run,tmp,usr/share/squid,var/log/squid,var/spool/squid}
chmod 1777 "$root"/{run,tmp,var/log/squid,var/spool/squid}
cp -rL /usr/share/squid/{icons,mime.conf} "$root/usr/share/squid"
for language in en templates; do
    install -D -m 644 -t "$root/usr/share/squid/errors/$language" /usr/share/squid/errors/$language/*
done
cp "$folder/bin/busybox" "$root/bin"
for name in cat echo httpd id ip ls nc ps sh sleep wget; do ln -s busybox "$root/bin/$name"; done
printf '%s\n' root:x:0:0:root:/:/bin/sh proxy:x:13:13:proxy:/:/bin/sh nobody:x:65534:65534:nobody:/:/bin/sh >"$root/etc/passwd"
printf '%s\n' root:x:0: proxy:x:13: nogroup:x:65534: >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
archive "$root" proxy '{"Env": ["PATH=/usr/sbin:/usr/bin:/bin"], "Cmd": ["squid", "-N"]}' "$folder/images/proxy-$squid.tar"
ln -sfn "proxy-$squid.tar" "$folder/images/proxy.tar"
