# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Proxies that really run: Squid in Pods that the provider makes, on a real kubelet."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import os
import signal
import subprocess
from pathlib import Path

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.pod import SQUID as SQUID_PROGRAM
from ansible_collections.crawl.egress.plugins.module_utils.provider import DeleteOutcome, State
from ansible_collections.crawl.egress.tests.kubernetes import node
from ansible_collections.crawl.egress.tests.kubernetes.fleets import converge, document, told
from ansible_collections.crawl.egress.tests.kubernetes.proxies import (
    HASH,
    SQUID,
    ctx,
    listing,
    provider,
    reference,
    request,
    wait_for,
)
from ansible_collections.crawl.egress.tests.kubernetes.waiting import until
from ansible_collections.crawl.egress.tests.kubernetes.web import fetch, serving

USERS_ONLY = {"users": SQUID["users"]}


@pytest.fixture
def lab(real_namespace, image):
    return provider(real_namespace, image=image, image_pull_policy="IfNotPresent", grace_seconds=1)


def squid_for(address: str) -> dict:
    """A guest configuration that lets its users fetch from there, wherever that is."""
    return {**USERS_ONLY, "allowed_destinations": [f"{address}/32"]}


def test_a_client_fetches_a_page_through_a_proxy_at_its_address(lab, real_namespace, reach) -> None:
    with reach.origin() as origin:
        wanted = request(real_namespace, squid=squid_for(origin.address))
        created = lab.create(wanted, ctx())
        instance = wait_for(lab, created, "it runs", lambda i: i.serves)
        assert instance.address == real_namespace.pod(wanted.name)["status"]["podIP"]
        with reach.pod(wanted.name, wanted.port) as proxy:
            page = fetch(origin.url, f"http://crawler:secret@{proxy}")
            assert page.status == 200
            assert origin.text in page.text
            if origin.url.startswith("http:"):
                for nobody in ("", "crawler:wrong@", "stranger:secret@"):
                    assert fetch(origin.url, f"http://{nobody}{proxy}").status == 407
    assert lab.delete(reference(created), ctx()).outcome is DeleteOutcome.DELETING
    until("it is gone", lambda: real_namespace.pod(wanted.name) is None, 120)


def test_what_runs_is_confined(lab, real_namespace, real_cluster) -> None:
    created = lab.create(request(real_namespace), ctx())
    wait_for(lab, created, "it runs", lambda i: i.serves)
    name = request(real_namespace).name

    def inside(*command: str) -> subprocess.CompletedProcess[str]:
        kubectl = real_cluster.programs / "bin" / "kubectl"
        access = ["--kubeconfig", real_namespace.kubeconfig]
        return subprocess.run(
            [kubectl, *access, "exec", name, "--", *command], capture_output=True, text=True, check=False
        )

    status = inside("/bin/busybox", "cat", "/proc/1/status").stdout
    lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert lines["Uid"].split() == lines["Gid"].split() == ["13"] * 4
    assert lines["NoNewPrivs"] == "1"
    assert {lines[key] for key in ("CapInh", "CapPrm", "CapEff", "CapBnd")} == {"0" * 16}
    assert lines["Seccomp"] == "2"
    for folder in ("/usr", "/run", "/var/spool/squid", "/etc/egress"):
        assert "Read-only file system" in inside("/bin/busybox", "touch", f"{folder}/written").stderr
    for folder in ("/tmp", "/dev/shm"):
        assert inside("/bin/busybox", "touch", f"{folder}/written").returncode == 0
    assert inside("/bin/busybox", "ls", "/var/run/secrets/kubernetes.io").returncode != 0
    assert HASH in inside("/bin/busybox", "cat", "/etc/egress/passwords").stdout


def test_metadata_and_the_cluster_are_out_of_reach(lab, real_namespace, real_cluster) -> None:
    wanted = request(real_namespace, squid=USERS_ONLY)
    created = lab.create(wanted, ctx())
    address = wait_for(lab, created, "it runs", lambda i: i.serves).address
    proxy = f"http://crawler:secret@{address}:3128"
    with serving(node.METADATA, 80, "credentials") as clients:
        assert fetch(f"http://{node.METADATA}/latest/meta-data/", proxy).status == 403
    with serving(node.GATEWAY, 8080, "the node"):
        assert fetch(f"http://{node.GATEWAY}:8080/", proxy).status == 403
    with serving(node.OUTSIDE, 8080, "the world") as seen:
        page = fetch(f"http://{node.OUTSIDE}:8080/", proxy)
        assert (page.status, page.text) == (200, "the world")
    assert clients == []
    assert seen == [address]


def test_allowed_sources_see_the_clients_own_address(lab, real_namespace, real_cluster) -> None:
    nobody = {"allowed_sources": ["192.0.2.0/24"], "allowed_destinations": [f"{node.OUTSIDE}/32"]}
    everybody_here = {**nobody, "allowed_sources": [node.POD_NETWORK]}
    for name, squid, status in (("one", nobody, 403), ("two", everybody_here, 200)):
        created = lab.create(request(real_namespace, name, squid=squid), ctx())
        address = wait_for(lab, created, "it runs", lambda i: i.serves).address
        with serving(node.OUTSIDE, 8080, "hello"):
            assert fetch(f"http://{node.OUTSIDE}:8080/", f"http://{address}:3128").status == status


@pytest.mark.timeout(300)
def test_a_changed_password_is_taken_up_without_a_new_pod(lab, real_namespace, real_cluster) -> None:
    """The Secret is shared and can be changed in place; Squid's helper reads the file again. The kubelet takes a while:
    its cache of Secrets lives for a minute."""
    created = lab.create(request(real_namespace, squid=USERS_ONLY), ctx())
    address = wait_for(lab, created, "it runs", lambda i: i.serves).address
    (secret,) = real_namespace.api.get(f"{real_namespace.path}/secrets?labelSelector=egress-guest")["items"]
    path = f"{real_namespace.path}/secrets/{secret['metadata']['name']}"
    passwords = base64.b64encode(f"renamed:{HASH}\n".encode()).decode()
    real_namespace.api.patch(path, {"data": {"passwords": passwords}})

    def renamed() -> bool:
        return fetch(f"http://{node.OUTSIDE}:8080/", f"http://renamed:secret@{address}:3128").status == 200

    with serving(node.OUTSIDE, 8080, "hello"):
        until("the kubelet has written the new file, and Squid has read it", renamed, 110, every=0.5)
    assert lab.get(created.provider_id, ctx()).incarnation == created.incarnation


@pytest.mark.parametrize(
    ("placement", "policy", "cause", "words"),
    [
        ({"image": "localhost/absent:1"}, "Never", "ErrImageNeverPull", "is not present with pull policy of Never"),
        ({"image": "localhost:1/absent:1"}, "Always", "ErrImagePull", "localhost:1/absent:1"),
        ({"machine_type": "huge"}, "IfNotPresent", "Unschedulable", "Insufficient cpu"),
        ({"zone": "nowhere"}, "IfNotPresent", "Unschedulable", "didn't match Pod's node affinity"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_keeps_it_from_running_is_told(
    real_namespace, real_cluster, image, placement, policy, cause, words
) -> None:
    huge = {"huge": {"requests": {"cpu": "1000"}}}
    lab = provider(real_namespace, image=image, image_pull_policy=policy, machine_types=huge, grace_seconds=1)
    wanted = request(real_namespace)
    wanted = dataclasses.replace(wanted, placement=dataclasses.replace(wanted.placement, **placement))
    created = lab.create(wanted, ctx())
    # between two tries, the kubelet says ImagePullBackOff, with fewer words
    instance = wait_for(lab, created, "the reason is told", lambda i: i.cause == cause)
    assert instance.state is State.PROVISIONING
    assert words.lower() in instance.message.lower().replace(
        "didn't match node selector", "didn't match pod's node affinity"
    )


def test_a_proxy_that_is_killed_comes_back(lab, real_namespace, real_cluster) -> None:
    """What it has left in shared memory stays with the Pod, and must not stop the next Squid."""
    wanted = request(real_namespace, squid={**USERS_ONLY, "allowed_destinations": [f"{node.OUTSIDE}/32"]})
    created = lab.create(wanted, ctx())
    address = wait_for(lab, created, "it runs", lambda i: i.serves).address
    os.kill(squid_of(created.incarnation), signal.SIGKILL)
    until("it was started again", lambda: restarts(real_namespace.pod(wanted.name)) == 1, 60)
    instance = wait_for(lab, created, "it runs again", lambda i: i.serves)
    assert instance.incarnation == created.incarnation
    with serving(node.OUTSIDE, 8080, "hello"):
        assert fetch(f"http://{node.OUTSIDE}:8080/", f"http://crawler:secret@{address}:3128").text == "hello"


def squid_of(incarnation: str) -> int:
    """The process, seen from outside of its cluster; in that of another test process, one may have the same name."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended by now
            program = (process / "cmdline").read_bytes().partition(b"\0")[0]
            if program == SQUID_PROGRAM.encode() and f"pod{incarnation}" in (process / "cgroup").read_text():
                return int(process.name)
    raise LookupError(incarnation)


def restarts(pod: dict) -> int:
    return pod["status"]["containerStatuses"][0]["restartCount"]


def test_a_proxy_that_crashes_says_how(lab, real_namespace, real_cluster) -> None:
    broken = {**SQUID, "extra_lines": ["acl broken time S 00:00-xx:00"]}
    created = lab.create(request(real_namespace, squid=broken), ctx())
    instance = wait_for(lab, created, "it crashes", lambda i: i.cause == "CrashLoopBackOff")
    assert instance.state is State.PROVISIONING
    assert "last ended as Error with exit status 1" in instance.message
    text = lab.diagnose(reference(created), ctx())
    assert "log before the last restart:" in text
    assert "FATAL" in text
    assert HASH not in text


def test_a_fleet_runs_drifts_and_goes(real_namespace, real_cluster, image) -> None:
    config = {"image": image, "image_pull_policy": "IfNotPresent", "grace_seconds": 1}
    squid = {**USERS_ONLY, "allowed_destinations": [f"{node.OUTSIDE}/32"]}
    desired = {**document(real_namespace, real_namespace, 3, **config), "squid": squid}
    result = converge(desired)
    assert (result["outcome"], result["counts"]["running"]) == ("converged", 3), told(result)
    with serving(node.OUTSIDE, 8080, "hello") as clients:
        for proxy in result["proxies"]:
            page = fetch(f"http://{node.OUTSIDE}:8080/", f"http://crawler:secret@{proxy['address']}:{proxy['port']}")
            assert (page.status, page.text) == (200, "hello")
    assert sorted(clients) == sorted(proxy["address"] for proxy in result["proxies"])
    assert converge(desired)["changed"] is False
    desired["pools"][0]["replicas"] = 0
    result = converge(desired, allow_empty=True, max_deletions="100%", wait_timeout=200)
    assert result["outcome"] == "converged", told(result)
    assert not listing(provider(real_namespace), install="tests").instances
