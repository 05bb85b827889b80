# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""C(type: acme.cloud.thing): a toy backend, whose proxies are entries of a JSON file. Placement is ignored."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ansible_collections.crawl.egress.plugins.module_utils.provider import (
    CONTRACT_VERSION,
    Completeness,
    Context,
    Created,
    CreateOutcome,
    CreateRequest,
    Deleted,
    DeleteOutcome,
    Guest,
    Instance,
    InstanceRef,
    Listing,
    Marks,
    Placement,
    Profile,
    ProviderError,
    ProviderHost,
    ProviderType,
    Reason,
    Scope,
    ScopeStatus,
    Selector,
    State,
    observed_api,
)

STATES = {"on": State.RUNNING, "off": State.STOPPED, "lost": State.UNKNOWN}
NOBODY = Marks("", "", "", "", "", "", 0)

Thing = dict[str, Any]


class Api:
    """The seam: each method is one request. Raises OSError (a TimeoutError when the run is over) and ValueError."""

    def __init__(self, file: str, clock: Any) -> None:
        self.file = file
        self.clock = clock

    def things(self, ctx: Context) -> dict[str, Thing]:
        with self._opened(ctx) as things:
            return things

    def put(self, key: str, labels: Mapping[str, str], ctx: Context) -> tuple[Thing, bool]:
        """The thing that is there, and whether it is new."""
        with self._opened(ctx) as things:
            is_new = key not in things
            if is_new:
                token = str(uuid.uuid4())
                things[key] = {"token": token, "labels": labels, "created": self.clock.now(), "status": "on"}
            return things[key], is_new

    def label(self, key: str, token: str, name: str, value: str | None, ctx: Context) -> bool:
        """Whether it is there."""
        with self._opened(ctx) as things:
            if key not in things or things[key]["token"] != token:
                return False
            things[key]["labels"].pop(name, None)
            things[key]["labels"].update({} if value is None else {name: value})
            return True

    def condemn(self, key: str, token: str, ctx: Context) -> bool:
        """Begin to delete it. Whether it is there."""
        with self._opened(ctx) as things:
            if key not in things or things[key]["token"] != token:
                return False
            things[key]["status"] = "condemned"
            return True

    def remove(self, key: str, token: str, ctx: Context) -> None:
        with self._opened(ctx) as things:
            if key in things and things[key]["token"] == token:
                del things[key]

    @contextlib.contextmanager
    def _opened(self, ctx: Context) -> Iterator[dict[str, Thing]]:
        with open(self.file, "a+", encoding="utf-8") as file:
            while True:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                ctx.sleep(0.01)
                if ctx.cancel.is_set() or ctx.remaining() <= 0:
                    raise TimeoutError("somebody else has the file")
            file.seek(0)
            before = file.read()
            things = json.loads(before or "{}")
            yield things
            after = json.dumps(things)
            if after != (before or "{}"):
                file.truncate(0)
                file.write(after)


class ThingProvider:
    """Provider and Marker."""

    profile = Profile(
        type="acme.cloud.thing",
        contract_version=CONTRACT_VERSION,
        placement=(),
        cloud_init="not-delivered",
        primary_key="name-is-key",
        readiness="immediate",
        ip_source="assigned-at-create",
        gc_mark="native-labels",
        created_at="backend-timestamp",
        provisioning_state="create-blocks",
        create_return="blocking",
        async_ops="none",
        delete_return="waits",
        secondary_resources="none",
        list_partial="fail-whole",
        list_cost="one-call",
        not_found="list-and-miss",
        quota="absent",
        credentials="none",
        client_kind="thin-client",
        child_spans="span-decorator",
        timeouts="ctx-only",
        logging="none",
        backend_test="real-backend",
    )

    def __init__(self, name: str, shelf: str, prefix: str, api: Api) -> None:
        self.name = name
        self._shelf = shelf
        self._prefix = prefix
        self._api = observed_api(api)

    def scope_of(self, placement: Placement) -> Scope:
        return Scope(f"shelves/{self._shelf}")

    def scope_of_id(self, provider_id: str) -> Scope:
        return Scope(f"shelves/{self._parsed(provider_id, 'get')[0]}")

    def spec_content(self, placement: Placement, port: int, guest: Guest) -> Mapping[str, Any]:
        if guest.squid is None:
            raise self._error(Reason.INVALID_CONFIG, "create", "cloud_init is not delivered (allowed: squid)")
        return {"port": port, "squid": guest.squid.hashable()}

    def create(self, request: CreateRequest, ctx: Context) -> Created:
        self.spec_content(request.placement, request.port, request.guest)
        provider_id = f"shelves/{self._shelf}/{request.name}"
        labels = request.marks.to_labels(self._prefix)
        thing, is_new = self._ask("create", provider_id, ctx, lambda: self._api.put(provider_id, labels, ctx))
        if is_new:
            return Created(provider_id, thing["token"], CreateOutcome.CREATED)
        marks = Marks.from_labels(thing["labels"], self._prefix)
        conflict = marks.conflict_with(request.marks) if marks else "it is not managed"
        if conflict:
            raise self._error(Reason.CONFLICT, "create", f"{provider_id} is there: {conflict}", provider_id)
        if thing["status"] == "condemned":
            raise self._error(Reason.BUSY, "create", f"{provider_id} is being deleted", provider_id)
        return Created(provider_id, thing["token"], CreateOutcome.ADOPTED)

    def get(self, provider_id: str, ctx: Context) -> Instance:
        self._configured(provider_id, "get")
        for instance in self._ask("get", provider_id, ctx, lambda: self._instances(ctx)):
            if instance.provider_id == provider_id:
                return instance
        raise self._error(Reason.GONE, "get", f"{provider_id} does not exist", provider_id)

    def delete(self, ref: InstanceRef, ctx: Context) -> Deleted:
        if self._parsed(ref.provider_id, "delete")[0] == self._shelf:
            which = ref.provider_id, ref.incarnation, ctx
            if self._ask("delete", ref.provider_id, ctx, lambda: self._api.condemn(*which)):
                self._ask("delete", ref.provider_id, ctx, lambda: self._api.remove(*which))
        return Deleted(DeleteOutcome.GONE)

    def list_by_tag(self, selector: Selector, ctx: Context) -> Listing:
        every = self._ask("list", None, ctx, lambda: self._instances(ctx))
        found = tuple(each for each in every if each.marks is not NOBODY and selector.matches(each.marks))
        return Listing(found, {Scope(f"shelves/{self._shelf}"): ScopeStatus(Completeness.COMPLETE)})

    def set_mark(self, ref: InstanceRef, key: str, value: str | None, ctx: Context) -> None:
        provider_id, token = ref.provider_id, ref.incarnation
        self._configured(provider_id, "mark")
        label = f"{self._prefix}-{key}"
        if not self._ask("mark", provider_id, ctx, lambda: self._api.label(provider_id, token, label, value, ctx)):
            raise self._error(Reason.GONE, "mark", f"{provider_id} does not exist", provider_id)

    def _instances(self, ctx: Context) -> list[Instance]:
        things = self._api.things(ctx)
        return [self._instance(key, thing) for key, thing in things.items() if key.split("/")[1] == self._shelf]

    def _instance(self, provider_id: str, thing: Thing) -> Instance:
        state = STATES.get(thing["status"], State.STOPPED)
        return Instance(
            provider=self.name,
            provider_id=provider_id,
            incarnation=thing["token"],
            name=provider_id.rpartition("/")[2],
            scope=self.scope_of_id(provider_id),
            state=state,
            marks=Marks.from_labels(thing["labels"], self._prefix) or NOBODY,
            address="192.0.2.1" if state is State.RUNNING else None,
            cause="ShutOff" if state is State.STOPPED else None,
            created_at=thing["created"],
            deleting=thing["status"] == "condemned",
        )

    def _configured(self, provider_id: str, op: str) -> None:
        shelf = self._parsed(provider_id, op)[0]
        if shelf != self._shelf:
            raise self._error(Reason.INVALID_CONFIG, op, f"shelf {shelf} is not configured any more", provider_id)

    def _parsed(self, provider_id: str, op: str) -> tuple[str, str]:
        match = re.fullmatch(r"shelves/([a-z]+)/([a-z0-9-]+)", provider_id)
        if match is None:
            raise self._error(Reason.MALFORMED_ID, op, f"{provider_id!r} is no shelves/SHELF/NAME", provider_id)
        return match[1], match[2]

    def _ask(self, op: str, provider_id: str | None, ctx: Context, call: Callable[[], Any]) -> Any:
        """The one place that classifies."""
        ctx.check(op, self.name, provider_id)
        try:
            return call()
        except TimeoutError as error:
            reason, message = Reason.CANCELLED if ctx.cancel.is_set() else Reason.TIMEOUT, str(error)
        except OSError as error:
            reason, message = Reason.UNREACHABLE, os.strerror(error.errno or 0)
        except (ValueError, LookupError, TypeError):
            reason, message = Reason.API_ERROR, "the file does not hold what it should"
        raise self._error(reason, op, message, provider_id)

    def _error(self, reason: Reason, op: str, message: str, provider_id: str | None = None) -> ProviderError:
        return ProviderError(reason, message, op=op, provider=self.name, provider_id=provider_id)


def build(name: str, config: Mapping[str, Any], host: ProviderHost) -> ThingProvider:
    return ThingProvider(name, config.get("shelf", "main"), host.mark_prefix, Api(config["file"], host.clock))


PROVIDER_TYPE = ProviderType(
    schema={
        "type": "object",
        "additionalProperties": False,
        "required": ["file"],
        "properties": {
            "file": {"type": "string", "minLength": 1, "description": "Path of the JSON file."},
            "shelf": {"type": "string", "pattern": "^[a-z]+$", "title": "letters a to z", "default": "main"},
        },
    },
    takes_cloud_init=False,
    build=build,
)
