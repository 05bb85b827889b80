#!/usr/bin/env bash
# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The programs and images of the Kubernetes test cluster, all of them from Debian, in the user's cache.
#   cluster.sh          make what is missing, with progress; killed, it goes on where it was
#   cluster.sh possible exit with 0 if they can be made here; else say on stderr what it takes
#   cluster.sh where    print the folder, or say on stderr why there is none
# In the folder: bin/ (Kubernetes, containerd, runc ...), cni/ (the CNI plugins), images/ (pause.tar, proxy.tar).
#
# Kubernetes is built from Debian's source package; what Debian has as a binary is unpacked here, not installed: no
# service starts, and a containerd or Go of the machine's own is neither used nor disturbed.
set -euo pipefail
cd "$(dirname "$0")/.."

kubernetes=1.20.2
recipe=2 # to be counted up with every change of what is built, or how
programs=(kube-apiserver kube-controller-manager kube-scheduler kubelet)
packages=(kubernetes-client containerd runc containernetworking-plugins catatonit busybox-static)

cache=${XDG_CACHE_HOME:-$HOME/.cache}/crawl.egress
folder=$cache/kubernetes-$kubernetes-$recipe
build=$folder.build # 3 GB, removed at the end

fail() {
    echo "cluster: $*" >&2
    exit 1
}

if [[ -n ${EGRESS_TEST_KUBERNETES_KUBECONFIG:-} ]]; then
    echo "cluster: the tests use that of $EGRESS_TEST_KUBERNETES_KUBECONFIG"
    exit
fi
release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null) || true
if ((EUID != 0)) || [[ $release != bullseye && $release != bookworm ]]; then
    fail "the Kubernetes test cluster needs Debian 11 or 12, and root; elsewhere set EGRESS_TEST_KUBERNETES_KUBECONFIG" \
        "to the kubeconfig of a cluster of your own"
fi

squid=$(dpkg-query -W -f '${Version}' squid 2>/dev/null) || squid=none
is_built() { [[ -e $folder/made ]]; }
is_packed() { [[ $(readlink "$folder/images/proxy.tar") == "proxy-$squid.tar" ]]; }

case ${1:-make} in
    make) ;;
    possible) exit ;;
    where)
        if ! is_built || ! is_packed; then fail "not built, or not for Squid $squid: run 'make cluster'"; fi
        echo "$folder"
        exit
        ;;
    *) fail "usage: $0 [possible|where]" ;;
esac

say() { printf 'cluster: %4d s: %s\n' $SECONDS "$*"; }

# Lists and settings of our own, from those entries of the system's that lead to Debian.
apt_of_our_own() {
    local apt=$build/apt file
    mkdir -p "$apt"/{lists/partial,cache/archives/partial,sources}
    [[ $(debian_sources) ]] || apt-get -qq update
    for file in $(debian_sources); do
        case $file in
            *.sources) sed 's/^Types:.*/Types: deb deb-src/' "$file" >"$apt/sources/${file##*/}" ;;
            *) sed -n 's/^deb\(-src\)\? \(.*\)/deb \2\ndeb-src \2/p' "$file" >"$apt/sources/${file##*/}" ;;
        esac
    done
    cat >"$apt/apt.conf" <<EOF
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$apt/sources";
Dir::State::lists "$apt/lists";
Dir::Cache "$apt/cache";
APT::Sandbox::User "root";
Acquire::Languages "none";
EOF
    export APT_CONFIG=$apt/apt.conf
    apt-get -qq update
}
debian_sources() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(SOURCESENTRY)' 'Created-By: Packages' 'Origin: Debian' | sed 's/:[0-9]*$//' | sort -u
}

# unpack DIR PACKAGE...: what the packages hold, below DIR
unpack() {
    local dir=$1 deb
    shift
    mkdir -p "$dir.debs" "$dir"
    (cd "$dir.debs" && apt-get -qq download "$@")
    for deb in "$dir.debs"/*.deb; do dpkg-deb -x "$deb" "$dir"; done
    rm -r "$dir.debs"
}

# constant NAME OLD NEW FILE: change it, if it is as expected
constant() {
    grep -Eq "^(const )?\s*$1\s+$2$" "$4" || fail "no '$1 $2' in $4"
    sed -Ei "s/^((const )?\s*$1\s+)$2$/\1$3/" "$4"
}

fetch() {
    local go src=$build/fetched.part/src
    rm -rf "$build/fetched.part"
    mkdir -p "$src"
    go=$(apt-cache depends golang-go | sed -n 's/.*Depends: \(golang-[0-9.]*\)-go$/\1/p')
    unpack "$build/fetched.part/go" "$go-go" "$go-src"
    unpack "$build/fetched.part/root" "${packages[@]}"
    (cd "$build/fetched.part" && apt-get -qq source --download-only kubernetes)
    tar -C "$src" --strip-components=1 -xzf "$build"/fetched.part/kubernetes_*"really$kubernetes".orig.tar.gz
    tar -C "$src" -xJf "$build"/fetched.part/kubernetes_*.debian.tar.xz
    (
        cd "$src"
        grep -v '^#' debian/patches/series | while read -r patch; do patch -s -p1 <"debian/patches/$patch"; done
        # at every start the kubelet waits five seconds for a Docker that is not there
        constant rootDirRetries '= 5' '= 0' vendor/github.com/google/cadvisor/container/docker/factory.go
        # and a deleted Pod stays until it looks for such, every ten seconds, and throws away sandboxes, every minute
        constant syncPeriod '= 10 \* time.Second' '= 1 * time.Second' pkg/kubelet/status/status_manager.go
        constant ContainerGCPeriod '= time.Minute' '= time.Second' pkg/kubelet/kubelet.go
        mkdir -p .go/src/k8s.io
        ln -s ../../.. .go/src/k8s.io/kubernetes
        printf '%s\n' KUBE_GIT_COMMIT=debian KUBE_GIT_TREE_STATE=archive "KUBE_GIT_VERSION=v$kubernetes" \
            KUBE_GIT_MAJOR=1 KUBE_GIT_MINOR=20 >.version
    )
    mv "$build/fetched.part" "$build/fetched"
}

compile() (
    cd "$build/fetched/src"
    go=$(echo "$build"/fetched/go/usr/lib/go-*)
    export PATH=$go/bin:$PATH GOROOT=$go GOPATH=$PWD/.go GOCACHE=$build/go-cache HOME=$build
    export CGO_ENABLED=0 GO111MODULE=off GOFLAGS="-v -tags=providerless" KUBE_GIT_VERSION_FILE=$PWD/.version
    printf -v what 'cmd/%s ' "${programs[@]}"
    # the release's makefile, because it generates code first; Go names each package that it has compiled, and the
    # clients of cloud providers are left out
    if ! make WHAT="$what" 2>&1 | tee "$build/make.log" | packages_compiled; then
        tail -n 30 "$build/make.log" >&2
        fail "the build failed: all of its output is in $build/make.log"
    fi
)
packages_compiled() {
    local count=0
    while read -r; do
        if ((++count % 250 == 0)); then say "compiled $count packages"; fi
    done
}

collect() {
    rm -rf "$folder.part"
    mkdir -p "$folder.part"/{bin,cni,images}
    cp "${programs[@]/#/$build/fetched/src/_output/bin/}" "$folder.part/bin"
    cp "$build"/fetched/root/{usr/bin/{kubectl,containerd,containerd-shim-runc-v2,ctr,catatonit},usr/sbin/runc,bin/busybox} "$folder.part/bin"
    cp "$build"/fetched/root/usr/lib/cni/{bridge,host-local,loopback} "$folder.part/cni"
    touch "$folder.part/made"
    rm -rf "$folder"
    mv "$folder.part" "$folder"
}

tools/packages.sh iproute2 make patch rsync squid xz-utils
squid=$(dpkg-query -W -f '${Version}' squid)

mkdir -p "$cache"
exec 9>"$folder.lock"
if ! flock --nonblock 9; then
    say "somebody else builds it: waiting"
    flock 9
fi

if ! is_built; then
    say "building Kubernetes $kubernetes in $build: about 5 minutes on 2 cores, once per machine"
    mkdir -p "$build"
    if [[ ! -e $build/fetched ]]; then
        say "fetching source, compiler and container runtime"
        apt_of_our_own
        fetch
    fi
    say "compiling ${programs[*]}"
    compile
    collect
    rm -rf "$build"
    say "built"
fi
if ! is_packed; then
    tools/cluster_images.sh "$folder"
    say "made the images with Squid $squid"
fi
echo "cluster: ready in $folder"
