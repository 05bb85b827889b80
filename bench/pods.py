# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""1,000 Pods on a real API server: C(egress_fleet) and the inventory against C(kubectl create) and C(kubernetes.core).

Nothing is asserted about time. Everything runs side by side on one cluster, in rounds that take turns; the figures are
medians, and beside them each contestant's best round, which shows how much the machine disturbed them. Both are net of
a playbook (or an inventory) that does nothing. The peers come from the package C(ansible), which is installed into an
environment of its own under C(.ansible) first.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import typing as t
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / ".ansible" / "tree"))

from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes import pod as rendering
from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.config import KubernetesConfig
from ansible_collections.crawl.egress.plugins.module_utils.provider import Marks, Placement
from ansible_collections.crawl.egress.tests.kubernetes.cluster import built_programs, cluster_on_loopback
from ansible_collections.crawl.egress.tests.kubernetes.namespaces import Namespace
from ansible_collections.crawl.egress.tests.kubernetes.standin import StandIn
from ansible_collections.crawl.egress.tests.kubernetes.waiting import until

if t.TYPE_CHECKING:
    from ansible_collections.crawl.egress.tests.kubernetes.cluster import Cluster

ROOT = Path(__file__).resolve().parents[1]
TREE = ROOT / ".ansible" / "tree"
COUNT = 1000
#: A loop is measured over so many items.
LOOPED = 20
ROUNDS = 5
#: What makes namespaces and takes them away. Nobody here waits for a controller that looks at Pods, and each would take
#: its share of the cores that the contestants and the API server have between them.
CONTROLLERS = "namespace,serviceaccount,serviceaccount-token"
PEERS = ROOT / ".ansible" / "bench-peers"
CREDENTIAL = {"users": [{"name": "crawler", "password_hash": "$5$saltsaltsaltsalt$" + "h" * 43}]}
PREFIX = "proxy-operator"


@dataclasses.dataclass(frozen=True)
class Cost:
    """Seconds by the clock, and of the processor in the client alone."""

    wall: float
    cpu: float

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.wall - other.wall, self.cpu - other.cpu)

    def __str__(self) -> str:
        return f"{self.wall:6.2f} s ({self.cpu:.2f} s CPU)"


def median(costs: list[Cost]) -> Cost:
    return Cost(statistics.median(c.wall for c in costs), statistics.median(c.cpu for c in costs))


def best(costs: list[Cost]) -> Cost:
    return Cost(min(c.wall for c in costs), min(c.cpu for c in costs))


def cost_of(command: list[str | Path], environment: dict[str, str]) -> Cost:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    run = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{run.stdout[-3000:]}")
    return Cost(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


class Bench:
    """Where the files of a run are, and how each contestant is started."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self.kubectl = shutil.which("kubectl") or str(cluster.programs / "bin" / "kubectl")
        self.environment = {
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(TREE),
            "ANSIBLE_HOME": str(ROOT / ".ansible"),
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
            "K8S_AUTH_KUBECONFIG": str(cluster.kubeconfig),
            "KUBECONFIG": str(cluster.kubeconfig),
        }

    @contextlib.contextmanager
    def namespace(self) -> Iterator[Namespace]:
        namespace = Namespace(self.cluster.kubeconfig, self.folder)
        try:
            yield namespace
        finally:
            self.cluster.api.delete(f"{namespace.path}/pods?gracePeriodSeconds=0")
            until("the Pods are gone", lambda: not namespace.pods())
            namespace.remove()

    def play(self, tasks: list[dict[str, t.Any]], prefix: Path = Path(sys.prefix)) -> Cost:
        """:param prefix: the environment whose Ansible it is."""
        python = str(prefix / "bin" / "python")
        play = {
            "hosts": "localhost",
            "gather_facts": False,
            "vars": {"ansible_connection": "local", "ansible_python_interpreter": python},
            "tasks": tasks,
        }
        playbook = self.folder / "play.json"
        playbook.write_text(json.dumps([play]))
        own = {} if prefix == Path(sys.prefix) else {"ANSIBLE_COLLECTIONS_PATH": str(self.folder / "none")}
        return cost_of([prefix / "bin" / "ansible-playbook", "-i", "localhost,", playbook], {**self.environment, **own})

    def looked_up(self, pods: list[dict[str, t.Any]]) -> str:
        """An expression for definitions in a file: written out in the playbook, Ansible would template each string."""
        file = self.folder / "definitions.json"
        file.write_text(json.dumps(pods))
        return f"{{{{ lookup('ansible.builtin.file', '{file}') | from_json }}}}"

    def fleet(self, namespace: Namespace) -> Cost:
        return self.play([{"crawl.egress.egress_fleet": {"desired": desired(namespace), "wait": False}}])

    def inventory(self, document: dict[str, t.Any]) -> Cost:
        source = self.folder / "bench.egress.yml"
        source.write_text(json.dumps(document))
        command = [Path(sys.prefix, "bin", "ansible-inventory"), "-i", source, "--list", "--output", os.devnull]
        return cost_of(command, self.environment)


def desired(namespace: Namespace) -> dict[str, t.Any]:
    return {
        "install": "bench",
        "providers": [provider(namespace)],
        "pools": [{"name": "eu", "replicas": COUNT}],
        "squid": CREDENTIAL,
    }


def provider(namespace: Namespace) -> dict[str, t.Any]:
    return {"name": "lab", "type": "kubernetes", "kubernetes": {"namespace": namespace.name}}


def definitions(namespace: Namespace, count: int = COUNT) -> list[dict[str, t.Any]]:
    """The same Pods, as others take them."""
    config = KubernetesConfig.parse("lab", {"namespace": namespace.name, "kubeconfig": "-"}, PREFIX, {})
    shape = rendering.Shape.of(Placement(), config)
    made = []
    for index in range(count):
        marks = Marks(f"u{index}", "bench", "default", f"eu-{index}", "eu", "lab", 3128, "f" * 32, 1)
        pod = rendering.pod(f"proxy-{index:016d}", marks, "bench", shape, 3128, config, PREFIX)
        pod["metadata"]["namespace"] = namespace.name
        made.append(pod)
    return made


def peers() -> Path | None:
    """An environment with kubernetes.core, made once; None, with a word, where it can't be had."""
    python = PEERS / "bin" / "python"
    if not (PEERS / "made").exists():
        print(f"installing ansible and kubernetes into {PEERS.relative_to(ROOT)}", flush=True)
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", PEERS], check=True)
            pip = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "ansible", "kubernetes"]
            subprocess.run(pip, check=True, stderr=subprocess.PIPE, text=True)
        except subprocess.CalledProcessError as error:
            print(f"kubernetes.core is not measured: {error}: {error.stderr}")
            return None
        (PEERS / "made").touch()
    listed = subprocess.run(
        [PEERS / "bin" / "ansible-galaxy", "collection", "list", "kubernetes.core"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": "/nonexistent"},
    )
    print("against", " ".join(listed.stdout.split()[-2:]))
    return PEERS


def rounds(bench: Bench, their: Path | None) -> dict[str, list[Cost]]:
    """Each contestant's cost in each round; what is looped is that of LOOPED items."""
    costs: dict[str, list[Cost]] = {}

    def note(name: str, cost: Cost) -> None:
        costs.setdefault(name, []).append(cost)

    def task(**more: t.Any) -> dict[str, t.Any]:
        return {"kubernetes.core.k8s": {"state": "present", **more}, "no_log": True}

    def pair(name: str, run: Callable[[], Cost]) -> None:
        note(f"{name}, created", run())
        note(f"{name}, unchanged", run())

    for _round in range(ROUNDS):
        note("nothing", bench.play([]))
        with bench.namespace() as namespace:
            file = bench.folder / "pods.json"
            file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": definitions(namespace)}))
            note("kubectl", cost_of([bench.kubectl, "create", "-f", file], bench.environment))
        with bench.namespace() as namespace:
            note("ours, created", bench.fleet(namespace))
            running(bench, namespace)
            note("ours, unchanged", bench.fleet(namespace))
            source = {"plugin": "crawl.egress.egress", "install": "bench", "providers": [provider(namespace)]}
            note("inventory of nothing", bench.inventory({**source, "install": "nobody"}))
            note("our inventory", bench.inventory(source))
            if their:
                selector = {"kind": "Pod", "namespace": namespace.name, "label_selectors": [f"{PREFIX}-managed=true"]}
                note("their nothing", bench.play([], their))
                note("their inventory", bench.play([{"kubernetes.core.k8s_info": selector, "no_log": True}], their))
        if their:
            with bench.namespace() as namespace:
                every = task(resource_definition=bench.looked_up(definitions(namespace)))
                pair("one task", lambda every=every: bench.play([every], their))
            with bench.namespace() as namespace:
                items = bench.looked_up(definitions(namespace, LOOPED))
                looped = {**task(resource_definition="{{ item }}"), "loop": items}
                pair("loop", lambda looped=looped: bench.play([looped], their))
    return costs


def running(bench: Bench, namespace: Namespace) -> None:
    """Let all Pods run."""
    addresses = iter(range(int.from_bytes(bytes([127, 9, 0, 1])), 2**31))
    with contextlib.closing(StandIn(bench.cluster.kubeconfig, namespace.name, addresses)):
        ready = f"{namespace.path}/pods?fieldSelector=status.phase=Running"
        until("all run", lambda: len(bench.cluster.api.get(ready)["items"]) == COUNT, 300, 0.5)


def main() -> None:
    their = peers()
    with (
        tempfile.TemporaryDirectory() as scratch,
        cluster_on_loopback(built_programs(), CONTROLLERS) as cluster,
    ):
        bench = Bench(cluster, Path(scratch))
        print("kubectl is", bench.kubectl, flush=True)
        costs = rounds(bench, their)
    for title, figure in (("median of", median), ("best of", best)):
        print(f"\n{title} {ROUNDS} rounds")
        report({name: figure(seen) for name, seen in costs.items()})


def report(costs: dict[str, Cost]) -> None:
    nothing = costs["nothing"]
    print(f"{'a playbook without tasks':42}{nothing}")
    created, unchanged = costs["ours, created"] - nothing, costs["ours, unchanged"] - nothing
    inventory = costs["our inventory"] - costs["inventory of nothing"]
    print(f"{f'egress_fleet, {COUNT} Pods created':42}{created}")
    print(f"{f'egress_fleet, {COUNT} Pods unchanged':42}{unchanged}")
    print(f"{f'inventory of {COUNT} Pods':42}{inventory}")
    compare("kubectl create -f", costs["kubectl"], created)
    if "their nothing" not in costs:
        return
    idle = costs["their nothing"]
    compare("one task of kubernetes.core, created", costs["one task, created"] - idle, created)
    compare("one task of kubernetes.core, unchanged", costs["one task, unchanged"] - idle, unchanged)
    for what, ours in (("created", created), ("unchanged", unchanged)):
        some = costs[f"loop, {what}"] - idle
        every = Cost(some.wall * COUNT / LOOPED, some.cpu * COUNT / LOOPED)
        compare(f"loop of kubernetes.core, {what} ({LOOPED} items)", every, ours)
    compare("kubernetes.core.k8s_info", costs["their inventory"] - idle, inventory)


def compare(name: str, theirs: Cost, ours: Cost) -> None:
    print(f"{name:42}{theirs}: {theirs.wall / ours.wall:.1f} times ours ({theirs.cpu / ours.cpu:.1f} times in CPU)")


if __name__ == "__main__":
    main()
