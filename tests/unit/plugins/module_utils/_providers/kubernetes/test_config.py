# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The configuration block, and where credentials are looked for."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from ansible_collections.crawl.egress.plugins.module_utils._errors import ArgumentError, MissingSDK
from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes import api
from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.config import Access, KubernetesConfig
from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.provider import build
from ansible_collections.crawl.egress.plugins.module_utils._providers.kubernetes.schema import DEFAULT_IMAGE, SCHEMA
from ansible_collections.crawl.egress.plugins.module_utils._registry import TYPES
from ansible_collections.crawl.egress.plugins.module_utils._spec.document import parse_document
from ansible_collections.crawl.egress.plugins.module_utils.provider import ProviderHost

DOCS = Path(__file__).resolve().parents[6] / "docs"

FULL = {
    "namespace": "proxies",
    "all_namespaces": True,
    "kubeconfig": "/etc/kube/config",
    "context": "prod",
    "insecure": False,
    "request_timeout": 5,
    "image": "registry.example:5000/squid@sha256:" + "0" * 64,
    "image_pull_policy": "IfNotPresent",
    "image_pull_secrets": ["pull"],
    "machine_types": {"small": {"requests": {"cpu": "10m", "memory": "0.5Gi"}, "limits": {"ephemeral-storage": "1G"}}},
    "service_account": "proxies",
    "priority_class": "low",
    "tolerations": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 3}],
    "labels": {"team": "crawl", "example.com/cost": ""},
    "annotations": {"sidecar.example.com/inject": "false"},
    "spread": "require",
    "host_network": False,
    "network_policy": True,
    "service": {"type": "LoadBalancer", "annotations": {"example.com/internal": "true"}},
    "address": "service",
    "grace_seconds": 3,
    "lost_node_timeout": None,
    "force_delete_lost": True,
}


def valid(block):
    return list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(block))


def parsed(environ=None, **block):
    return KubernetesConfig.parse("lab", {"namespace": "proxies", **block}, "proxy-operator", environ or {})


def problems(**block):
    with pytest.raises(ArgumentError) as error:
        parsed(**block)
    return "\n".join(error.value.problems)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_option_is_accepted_and_kept():
    assert valid(FULL) == []
    config = KubernetesConfig.parse("lab", FULL, "proxy-operator", {})
    assert config.access == Access("kubeconfig", kubeconfig="/etc/kube/config", context="prod")
    assert config.machine_types["small"] == FULL["machine_types"]["small"]
    assert config.service.type == "LoadBalancer"
    for key in set(FULL) - {"kubeconfig", "context", "insecure", "machine_types", "service"}:
        value = getattr(config, key)
        assert (list(value) if isinstance(value, tuple) else value) == FULL[key], key


def test_every_option_is_in_the_example():
    by_host = {"host", "token_file", "ca_file", "cert_file", "key_file"}
    assert set(FULL) == set(SCHEMA["properties"]) - by_host


def test_the_namespace_is_enough():
    assert valid({"namespace": "proxies"}) == []
    config = parsed()
    assert (config.image, config.address, config.grace_seconds) == (DEFAULT_IMAGE, "pod", 10)
    assert set(config.machine_types) == {"default"}
    assert config.machine_types["default"]["limits"] == {"memory": "256Mi"}


@pytest.mark.parametrize("key", sorted(SCHEMA["properties"]))
def test_defaults_are_those_of_the_schema(key):
    schema = SCHEMA["properties"][key]
    if "default" in schema and key != "insecure":
        assert getattr(parsed(), key) == schema["default"]


@pytest.mark.parametrize(
    "block",
    [
        {},
        {"namespace": ""},
        {"namespace": "Proxies"},
        {"namespace": "a" * 64},
        {"namespace": "a.b"},
        {"namespace": "proxies\n"},
        {"namespace": "p", "image": "squid 6"},
        {"namespace": "p", "image": ""},
        {"namespace": "p", "image_pull_policy": "Sometimes"},
        {"namespace": "p", "machine_types": {"a b": {}}},
        {"namespace": "p", "machine_types": {"a": {"requests": {"gpu": "1"}}}},
        {"namespace": "p", "machine_types": {"a": {"requests": {"cpu": "lots"}}}},
        {"namespace": "p", "machine_types": {"a": {"requests": {"cpu": 1}}}},
        {"namespace": "p", "labels": {"team": "not a label"}},
        {"namespace": "p", "labels": {"bad key": "x"}},
        {"namespace": "p", "annotations": {"a": 1}},
        {"namespace": "p", "tolerations": [{"effect": "Always"}]},
        {"namespace": "p", "service": {"type": "NodePort"}},
        {"namespace": "p", "spread": True},
        {"namespace": "p", "address": "node"},
        {"namespace": "p", "grace_seconds": 0},
        {"namespace": "p", "request_timeout": 0},
        {"namespace": "p", "host": "api.example:6443"},
        {"namespace": "p", "host": "https://user:secret@api.example"},
        {"namespace": "p", "token": "secret"},
    ],
    ids=str,
)
def test_what_the_schema_refuses(block):
    assert valid(block)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"host": "https://a", "kubeconfig": "/k"}, "kubeconfig can't be used with host"),
        ({"host": "https://a", "context": "c"}, "context can't be used with host"),
        ({"token_file": "/t"}, "token_file needs host"),
        ({"ca_file": "/t"}, "ca_file needs host"),
        ({"host": "https://a", "cert_file": "/c"}, "cert_file and key_file need each other"),
        ({"address": "service"}, "there is no service (allowed: pod, or give service)"),
        ({"host_network": True, "network_policy": True}, "network_policy has no effect on host_network"),
        ({"labels": {"proxy-operator-uid": "x"}}, "'proxy-operator-uid' is not allowed"),
        ({"annotations": {"egress-used": "1"}}, "'egress-used' is not allowed"),
    ],
)
def test_what_does_not_go_together(block, words):
    assert words in problems(**block)


def test_all_faults_at_once():
    found = problems(address="service", cert_file="/c", host="https://a", context="c")
    assert found.count("provider lab: kubernetes.") == 3


HOME = {"KUBECONFIG": "/k"}


@pytest.mark.parametrize(
    ("block", "environ", "expected"),
    [
        ({"kubeconfig": "/k"}, {}, Access("kubeconfig", kubeconfig="/k")),
        ({"kubeconfig": "/k"}, {"K8S_AUTH_HOST": "https://b"}, Access("kubeconfig", kubeconfig="/k")),
        (
            {"host": "https://a/", "token_file": "/t", "ca_file": "/ca", "insecure": True},
            {"K8S_AUTH_API_KEY": "other", **HOME},
            Access("host", host="https://a", token_file="/t", ca_file="/ca", insecure=True),
        ),
        (
            {},
            {"K8S_AUTH_HOST": "https://b/", "K8S_AUTH_API_KEY": "t", "K8S_AUTH_SSL_CA_CERT": "/ca", **HOME},
            Access("K8S_AUTH_HOST", host="https://b", token="t", ca_file="/ca"),
        ),
        (
            {},
            {"K8S_AUTH_HOST": "https://b", "K8S_AUTH_CERT_FILE": "/c", "K8S_AUTH_KEY_FILE": "/k"},
            Access("K8S_AUTH_HOST", host="https://b", cert_file="/c", key_file="/k"),
        ),
        ({}, {"K8S_AUTH_KUBECONFIG": "/a", **HOME}, Access("K8S_AUTH_KUBECONFIG", kubeconfig="/a")),
        ({}, {"K8S_AUTH_CONTEXT": "c", **HOME}, Access("KUBECONFIG", kubeconfig="/k", context="c")),
        ({"context": "d"}, {"K8S_AUTH_CONTEXT": "c", **HOME}, Access("KUBECONFIG", kubeconfig="/k", context="d")),
        ({"context": "d"}, {"K8S_AUTH_HOST": "https://b", **HOME}, Access("KUBECONFIG", kubeconfig="/k", context="d")),
        ({}, {"KUBECONFIG": "/a:/b"}, Access("KUBECONFIG", kubeconfig="/a:/b")),
        ({}, {"K8S_AUTH_VERIFY_SSL": "false", **HOME}, Access("KUBECONFIG", kubeconfig="/k")),
    ],
)
def test_where_credentials_are_looked_for(block, environ, expected):
    assert parsed(environ, **block).access == expected


def test_empty_variables_and_files_count_as_not_set(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    empty = tmp_path / "empty"
    empty.touch()
    nothing = dict.fromkeys(("K8S_AUTH_HOST", "K8S_AUTH_KUBECONFIG", "K8S_AUTH_CONTEXT", "KUBECONFIG"), "")
    in_cluster = {**nothing, "KUBECONFIG": str(empty), "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    default = tmp_path / ".kube" / "config"
    assert parsed(nothing).access == Access("the default kubeconfig", kubeconfig=str(default))
    assert parsed(in_cluster).access == Access("the service account of this Pod")
    default.parent.mkdir()
    default.touch()
    assert parsed(in_cluster).access == Access("the service account of this Pod")
    default.write_text("a kubeconfig")
    assert parsed(in_cluster).access.kubeconfig == str(default)


def test_paths_are_expanded(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("CLUSTER", "prod")
    assert parsed(kubeconfig="~/.kube/$CLUSTER:/b").access.kubeconfig == "/home/me/.kube/prod:/b"


def test_a_token_is_not_in_the_repr():
    assert "s3cr3t" not in repr(parsed({"K8S_AUTH_HOST": "https://b", "K8S_AUTH_API_KEY": "s3cr3t"}))


def test_a_missing_package_is_named_when_the_provider_is_built(monkeypatch):
    monkeypatch.setattr(api.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingSDK, match="provider lab: the Python package kubernetes cannot be imported"):
        build("lab", {"namespace": "proxies"}, ProviderHost(lambda argv, stdin="": (0, "", ""), ""))


def test_the_guide_names_every_option():
    guide = (DOCS / "kubernetes-provider.md").read_text()
    assert [option for option in SCHEMA["properties"] if f"`{option}`" not in guide] == []


def test_the_sample_is_a_document():
    sample = yaml.safe_load((DOCS / "samples" / "kubernetes.yml").read_text())
    assert len(parse_document(sample, TYPES).specs) == 20
