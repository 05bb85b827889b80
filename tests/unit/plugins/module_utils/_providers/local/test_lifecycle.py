# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A proxy's life by the provider contract, with real processes."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from ansible_collections.crawl.egress.plugins.module_utils.provider import (
    Completeness,
    CreateOutcome,
    DeleteOutcome,
    Guest,
    InstanceRef,
    Marker,
    Placement,
    Provider,
    ProviderError,
    Reason,
    Scope,
    Selector,
    State,
)
from ansible_collections.crawl.egress.tests.unit.plugins.local_backend import start_elsewhere

OURS = Selector(install="prod")
SCOPE = Scope("hosts/localhost")


def test_it_is_a_provider_and_a_marker(provider):
    assert isinstance(provider, Provider)
    assert isinstance(provider, Marker)
    assert provider.profile.type == "local"


def test_what_was_never_made_is_completely_absent(provider, backend, ctx):
    listing = provider.list_by_tag(OURS, ctx)
    assert (listing.instances, listing.unreadable) == ((), ())
    assert listing.scopes[SCOPE].completeness is Completeness.COMPLETE
    assert not backend.directory.exists()


def test_create_get_list_delete(engine, provider, backend, request_for, serving, ctx):
    request = request_for(generation=7)
    instance = serving(provider, request)
    assert instance.state is State.RUNNING
    assert (instance.name, instance.scope, instance.marks) == (request.name, SCOPE, request.marks)
    assert instance.provider_id == f"hosts/localhost/proxies/{request.name}"
    assert instance.created_at <= instance.since
    assert (instance.cause, instance.message, instance.deleting) == (None, None, False)

    listing = provider.list_by_tag(OURS, ctx)
    assert listing.instances == (instance,)
    assert listing.scopes == {SCOPE: listing.scopes[SCOPE]}
    assert listing.scopes[SCOPE].complete

    assert provider.delete(instance.ref, ctx).outcome is DeleteOutcome.GONE
    with pytest.raises(ProviderError) as raised:
        provider.get(instance.provider_id, ctx)
    assert raised.value.reason is Reason.GONE
    assert provider.list_by_tag(OURS, ctx).instances == ()
    assert backend.traces(instance.incarnation) == []


def test_a_repeated_create_adopts(engine, provider, backend, request_for, serving, ctx):
    request = request_for()
    first = provider.create(request, ctx)
    assert first.outcome is CreateOutcome.CREATED
    again = provider.create(request, ctx)
    assert again == dataclasses.replace(first, outcome=CreateOutcome.ADOPTED)
    instance = serving(provider, request)
    assert instance.incarnation == first.incarnation
    assert len({os.getsid(pid) for pid in backend.processes()}) == 1


def test_delete_is_idempotent(provider, request_for, serving, ctx):
    instance = serving(provider, request_for())
    for _unused in range(2):
        assert provider.delete(instance.ref, ctx).outcome is DeleteOutcome.GONE


def test_the_next_one_of_that_name_is_another_incarnation_at_the_same_address(provider, request_for, serving, ctx):
    first = serving(provider, request_for())
    provider.delete(first.ref, ctx)
    second = serving(provider, request_for())
    assert second.incarnation != first.incarnation
    assert second.address == first.address

    assert provider.delete(first.ref, ctx).outcome is DeleteOutcome.GONE  # which it is
    assert provider.get(second.provider_id, ctx).serves


def test_one_going_leaves_the_other_alone(provider, backend, request_for, serving, client_of, origin, ctx):
    first, second = (serving(provider, request_for(key)) for key in ("a", "b"))
    provider.delete(first.ref, ctx)
    assert client_of(second).get(origin.url)[0] == 200
    assert not [
        trace for trace in backend.traces(first.incarnation) if first.name in trace or first.incarnation in trace
    ]
    provider.delete(second.ref, ctx)
    assert backend.traces(first.incarnation, second.incarnation) == []


def test_the_selector_is_honoured(provider, request_for, ctx):
    one = provider.create(request_for("a"), ctx)
    other_pool = provider.create(request_for("b", pool="eu"), ctx)
    other_install = provider.create(request_for("c", install="test"), ctx)

    def ids(selector: Selector) -> set[str]:
        return {instance.provider_id for instance in provider.list_by_tag(selector, ctx).instances}

    assert ids(OURS) == {one.provider_id, other_pool.provider_id}
    assert ids(Selector(install=None)) == {one.provider_id, other_pool.provider_id, other_install.provider_id}
    assert ids(Selector(install="prod", pools=("eu",))) == {other_pool.provider_id}
    assert ids(Selector(install="prod", uid=request_for("a").marks.uid)) == {one.provider_id}


def test_marks_are_set_and_removed(provider, request_for, serving, ctx):
    instance = serving(provider, request_for())
    provider.set_mark(instance.ref, "hold", "1900000000", ctx)
    held = provider.get(instance.provider_id, ctx)
    assert held.marks.hold_until() == 1900000000
    assert held.marks == dataclasses.replace(instance.marks, extra={"hold": "1900000000"})
    provider.set_mark(instance.ref, "hold", None, ctx)
    provider.set_mark(instance.ref, "hold", None, ctx)
    assert provider.get(instance.provider_id, ctx) == instance


def test_marks_of_another_incarnation_are_not_touched(provider, request_for, serving, ctx):
    instance = serving(provider, request_for())
    for ref in (
        InstanceRef(instance.provider_id, "0" * 16),
        InstanceRef("hosts/localhost/proxies/proxy-none", instance.incarnation),
    ):
        with pytest.raises(ProviderError) as raised:
            provider.set_mark(ref, "hold", "1", ctx)
        assert raised.value.reason is Reason.GONE
    assert provider.get(instance.provider_id, ctx) == instance


@pytest.mark.parametrize(
    ("marks", "named"),
    [
        ({"uid": "someone-else"}, "uid"),
        ({"install": "test"}, "install"),
        ({"slot": 1}, "slot"),
        ({"pool": "eu"}, "pool"),
    ],
)
def test_what_is_not_ours_is_not_adopted(provider, request_for, serving, ctx, marks, named):
    request = request_for()
    instance = serving(provider, dataclasses.replace(request, marks=dataclasses.replace(request.marks, **marks)))
    with pytest.raises(ProviderError) as raised:
        provider.create(request, ctx)
    assert raised.value.reason is Reason.CONFLICT
    assert named in raised.value.message
    assert provider.get(instance.provider_id, ctx) == instance


def test_another_prefix_is_another_world(backend, provider, request_for, serving, ctx):
    instance = serving(provider, request_for())
    theirs = backend.provider()
    theirs._prefix = "other"
    assert theirs.list_by_tag(Selector(install=None), ctx).instances == ()
    with pytest.raises(ProviderError) as raised:
        theirs.create(request_for(), ctx)
    assert raised.value.reason is Reason.CONFLICT
    assert "no mark" in raised.value.message
    assert provider.get(instance.provider_id, ctx) == instance


def test_malformed_ids(provider, ctx):
    for identity in ("", "proxy-a", "hosts/localhost/proxies/../x"):
        ref = InstanceRef(identity, "0" * 16)
        for call in (
            lambda identity=identity: provider.scope_of_id(identity),
            lambda identity=identity: provider.get(identity, ctx),
            lambda ref=ref: provider.delete(ref, ctx),
            lambda ref=ref: provider.set_mark(ref, "hold", "1", ctx),
        ):
            with pytest.raises(ProviderError) as raised:
                call()
            assert raised.value.reason is Reason.MALFORMED_ID
    assert provider.scope_of_id("hosts/localhost/proxies/proxy-a") == SCOPE


def test_a_host_that_is_configured_no_more(provider, backend, request_for, ctx):
    there = backend.provider(host="elsewhere")
    created = there.create(request_for(host="elsewhere"), ctx)
    assert provider.scope_of_id(created.provider_id) == Scope("hosts/elsewhere")
    ref = InstanceRef(created.provider_id, created.incarnation)
    for call in (lambda: provider.get(created.provider_id, ctx), lambda: provider.set_mark(ref, "hold", "1", ctx)):
        with pytest.raises(ProviderError) as raised:
            call()
        assert raised.value.reason is Reason.INVALID_CONFIG
        assert "local.host is 'localhost'" in raised.value.message
    assert provider.delete(ref, ctx).outcome is DeleteOutcome.GONE  # nobody could be released otherwise
    assert there.get(created.provider_id, ctx).incarnation == created.incarnation


def test_the_specification_is_the_guest_and_the_port(backend, provider, request_for):
    request = request_for()
    content = provider.spec_content(Placement(), 3128, request.guest)
    assert content == {"port": 3128, "squid": request.guest.squid.hashable()}
    elsewhere = Placement(region="r", zone="z", machine_type="m", image="i")
    assert provider.spec_content(elsewhere, 3128, request.guest) == content
    assert provider.scope_of(elsewhere) == SCOPE
    for other in ("auto", "proxy.py"):
        assert backend.provider(engine=other).spec_content(Placement(), 3128, request.guest) == content


def test_cloud_init_is_for_others(provider, backend, request_for, ctx):
    request = dataclasses.replace(request_for(), guest=Guest(cloud_init="#cloud-config"))
    for call in (
        lambda: provider.create(request, ctx),
        lambda: provider.spec_content(Placement(), 3128, request.guest),
    ):
        with pytest.raises(ProviderError) as raised:
            call()
        assert raised.value.reason is Reason.INVALID_CONFIG
    assert backend.traces() == []


def test_hosts_of_one_folder_are_apart(backend, provider, request_for, serving, ctx):
    other = backend.provider(host="other")
    here, there = serving(provider, request_for()), serving(other, request_for(host="other"))
    assert here.address != there.address
    assert provider.list_by_tag(OURS, ctx).instances == (here,)
    assert other.list_by_tag(OURS, ctx).scopes == {
        Scope("hosts/other"): other.list_by_tag(OURS, ctx).scopes[there.scope]
    }
    provider.delete(here.ref, ctx)
    assert other.get(there.provider_id, ctx) == there


def test_proxies_survive_whoever_made_them(engine, backend, provider, request_for, until, client_of, origin, ctx):
    """The maker, its whole session, and the pipes it had are gone; the proxy serves."""
    request = request_for()
    maker = start_elsewhere(
        """
backend, request = given
print(backend.provider().create(request, Context.within(30)).provider_id, flush=True)
sys.stdin.buffer.read()
""",
        backend,
        request,
    )
    identity = maker.stdout.readline().decode().strip()
    os.killpg(maker.pid, signal.SIGKILL)
    assert maker.stdout.read() == b""  # ends only when nobody has the pipe any more
    maker.communicate()
    instance = until(lambda: (found := provider.get(identity, ctx)).serves and found)
    assert client_of(instance).get(origin.url)[0] == 200
    for pid in backend.processes():
        assert os.getsid(pid) != os.getsid(0)
        targets = {os.readlink(f"/proc/{pid}/fd/{number}") for number in (0, 1, 2)}
        assert targets == {"/dev/null", str(backend.folder(request.name) / "engine.log")}


def test_every_engine_is_found_or_named(backend, request_for, ctx, monkeypatch):
    from ansible_collections.crawl.egress.plugins.module_utils._providers.local import engines

    guest = request_for().guest.squid
    assert isinstance(engines.find("auto", guest, sys.executable, "x"), engines.Squid)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(engines, "PROGRAM_FOLDERS", ())
    assert isinstance(engines.find("auto", guest, sys.executable, "x"), engines.ProxyPy)
    with pytest.raises(ProviderError) as raised:
        backend.provider(engine="squid").create(request_for(), ctx)
    assert raised.value.reason is Reason.INVALID_CONFIG
    assert "Debian package squid" in raised.value.message
    monkeypatch.setattr(engines.importlib.util, "find_spec", lambda name: None)
    for wanted in ("auto", "proxy.py"):
        with pytest.raises(ProviderError) as raised:
            backend.provider(engine=wanted).create(request_for(), ctx)
        assert raised.value.reason is Reason.INVALID_CONFIG
        assert "no Python package proxy.py and libpass" in raised.value.message
    assert backend.traces() == []


def test_squid_without_its_helper_is_no_engine_for_users(request_for, monkeypatch):
    from ansible_collections.crawl.egress.plugins.module_utils._providers.local import engines

    monkeypatch.setattr(engines, "AUTH_HELPERS", ())
    users, open_to_some = request_for().guest.squid, request_for(squid={"allowed_sources": ["127.0.0.0/8"]}).guest.squid
    assert isinstance(engines.find("auto", users, sys.executable, "x"), engines.ProxyPy)
    assert isinstance(engines.find("auto", open_to_some, sys.executable, "x"), engines.Squid)


def test_extra_lines_are_for_squid(backend, provider, request_for, serving, client_of, origin, ctx):
    lines = ["acl by_day method GET", "http_access deny by_day"]
    squid = {"allowed_sources": ["127.0.0.0/8"], "allowed_destinations": ["127.0.0.0/8"], "extra_lines": lines}
    assert client_of(serving(provider, request_for(squid=squid)), user=None).get(origin.url)[0] == 403
    other = backend.provider(engine="proxy.py")
    for call in (
        lambda: other.create(request_for("b", squid=squid), ctx),
        lambda: other.spec_content(Placement(), 3128, request_for(squid=squid).guest),
    ):
        with pytest.raises(ProviderError) as raised:
            call()
        assert raised.value.reason is Reason.INVALID_CONFIG
        assert "extra_lines" in raised.value.message


def test_an_extra_line_that_squid_refuses_is_told_at_once(provider, backend, request_for, serving, ctx):
    squid = {"allowed_sources": ["127.0.0.0/8"], "extra_lines": ["no_such_directive on", "acl x nosuchtype 1"]}
    with pytest.raises(ProviderError) as raised:
        provider.create(request_for(squid=squid), ctx)
    assert raised.value.reason is Reason.INVALID_CONFIG
    assert "nosuchtype" in raised.value.message
    assert backend.processes() == []
    assert serving(provider, request_for()).serves  # once it is put right


def test_the_programs_come_out_of_an_archive_too(tmp_path, backend):
    """As on a managed host, where the collection is a zip file."""
    import zipfile

    archive = tmp_path / "payload.zip"
    root = os.environ["ANSIBLE_COLLECTIONS_PATH"].split(os.pathsep)[0]
    utils = "ansible_collections/crawl/egress/plugins/module_utils"
    with zipfile.ZipFile(archive, "w") as made:
        parts = f"{utils}/_providers/local".split("/")
        for depth in range(len(parts)):
            made.writestr("/".join([*parts[: depth + 1], "__init__.py"]), "")
        made.writestr(f"{utils}/_squid/__init__.py", "")
        for folder, _folders, files in os.walk(os.path.join(root, utils)):
            for name in (name for name in files if name.endswith(".py")):
                path = os.path.join(folder, name)
                made.write(path, os.path.relpath(path, root))
    program = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(archive)!r})
        from {utils.replace("/", ".")}._providers.local import api, egress_launcher, egress_proxypy
        assert egress_launcher.__file__.startswith({str(archive)!r})
        local = api.LocalApi({str(tmp_path)!r}, "localhost", None, sys.executable)
        local._install(egress_launcher)
        local._install(egress_proxypy)
        """
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
    source = os.path.join(root, utils, "_providers", "local")
    for name in ("egress_launcher.py", "egress_proxypy.py"):
        with open(os.path.join(source, name), encoding="utf-8") as stream:
            assert (tmp_path / name).read_text() == stream.read()
