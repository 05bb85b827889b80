# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The provider contract, version 1. Public: a third party's provider imports from this file and nothing else of ours.

A provider is built by a C(build(name, config, host)) function. Building one never dials. Every method honours C(ctx),
bounds each backend call by a timeout of its own, raises nothing but L(ProviderError), and never lets the contents of
C(guest) or a credential reach a message, a log line, a process list or an exception.
"""

from __future__ import annotations

import dataclasses
import random
import typing as t

from ._calls import backend_call, observed_api
from ._context import Clock, Context, SystemClock
from ._errors import LATCHING, LATCHING_PROVIDER, EgressError, ErrorClass, MissingSDK, ProviderError, Reason
from ._marks import DEFAULT_PREFIX, HOLD, NAMED_POOL, TASK_POOL, Marks
from ._models import (
    CheckReason,
    Completeness,
    Created,
    CreateOutcome,
    CreateRequest,
    Deleted,
    DeleteOutcome,
    Guest,
    Instance,
    InstanceRef,
    Leftover,
    LeftoverListing,
    Listing,
    Placement,
    Scope,
    ScopeStatus,
    Selector,
    State,
    TargetStatus,
)
from ._profile import Profile

__all__ = [
    "CONTRACT_VERSION",
    "DEFAULT_PREFIX",
    "HOLD",
    "LATCHING",
    "LATCHING_PROVIDER",
    "NAMED_POOL",
    "TASK_POOL",
    "CheckReason",
    "Checker",
    "Clock",
    "Completeness",
    "Context",
    "CreateOutcome",
    "CreateRequest",
    "Created",
    "DeleteOutcome",
    "Deleted",
    "Diagnoser",
    "EgressError",
    "ErrorClass",
    "Guest",
    "Instance",
    "InstanceRef",
    "Leftover",
    "LeftoverListing",
    "Listing",
    "Marker",
    "Marks",
    "MissingSDK",
    "Placement",
    "Preflight",
    "Profile",
    "Provider",
    "ProviderError",
    "ProviderHost",
    "ProviderType",
    "Reason",
    "Runner",
    "Scope",
    "ScopeStatus",
    "Selector",
    "State",
    "Sweeper",
    "SystemClock",
    "TargetStatus",
    "backend_call",
    "observed_api",
]

CONTRACT_VERSION = 1


class Runner(t.Protocol):
    """Starts a program and waits for it; injected, since a module and an action plugin may not do it the same way."""

    def __call__(self, argv: t.Sequence[str], *, stdin: str = "") -> tuple[int, str, str]:
        """Return (exit status, standard output, standard error); C(argv) never holds a secret, C(stdin) may."""


@dataclasses.dataclass(frozen=True)
class ProviderHost:
    """What a provider gets from whoever builds it.

    :ivar mark_prefix: prefix of every mark it writes and looks for.
    :ivar python: absolute path of the interpreter that runs us; a provider may start programs with it.
    """

    runner: Runner
    python: str
    clock: Clock = dataclasses.field(default_factory=SystemClock)
    random: random.Random = dataclasses.field(default_factory=random.SystemRandom)
    mark_prefix: str = DEFAULT_PREFIX


@t.runtime_checkable
class Provider(t.Protocol):
    """Create, Get, Delete, ListByTag over one configured backend. Safe to be called from many threads at once."""

    name: str

    @property
    def profile(self) -> Profile:
        """What it declares about itself; a plain class attribute will do."""

    def scope_of(self, placement: Placement) -> Scope | None:
        """Pure. The scope in which this placement lives; None when any scope of the provider may serve."""

    def scope_of_id(self, provider_id: str) -> Scope:
        """Pure and strict. Raises C(Permanent/MalformedID)."""

    def spec_content(self, placement: Placement, port: int, guest: Guest) -> t.Mapping[str, t.Any]:
        """Pure. What forces a replacement when it changes: plain JSON values, catalogue keys resolved to their content.

        A location is in it only where it makes no other scope, which would tell; a field that the provider ignores
        never is. Raises C(Permanent/InvalidPlacement) or C(Permanent/InvalidConfig) naming field, value and what is
        allowed, for what it can never satisfy.
        """

    def create(self, request: CreateRequest, ctx: Context) -> Created:
        """Idempotent by C(request.name); writes all marks in the call that creates; returns once it is submitted.

        An existing instance is adopted only when managed, of the same install, UID and slot, and not deleting;
        otherwise C(Permanent/Conflict) (C(Transient/Busy) while deleting) and it stays untouched. Never NotFound.
        """

    def get(self, provider_id: str, ctx: Context) -> Instance:
        """Raises C(NotFound) when, and only when, it is gone; while it is being deleted it is returned as deleting."""

    def delete(self, ref: InstanceRef, ctx: Context) -> Deleted:
        """Idempotent; removes all that Create made. Another incarnation under that name counts as gone, untouched."""

    def list_by_tag(self, selector: Selector, ctx: Context) -> Listing:
        """Only instances with the managed mark. Covers every scope in which this provider can create."""


@t.runtime_checkable
class Marker(t.Protocol):
    """A provider that can set marks on a living instance."""

    def set_mark(self, ref: InstanceRef, key: str, value: str | None, ctx: Context) -> None:
        """Set one mark by its short name, or remove it (None). Idempotent. C(NotFound) when the incarnation is gone."""


@t.runtime_checkable
class Checker(t.Protocol):
    """A provider that can tell whether its backend would serve it."""

    def check(self, ctx: Context) -> list[TargetStatus]:
        """One entry per target, in a stable order. Never raises; returns promptly once C(ctx) ends; disturbs nothing.

        With the credentials, verbs and scope that list and create use, and cheap: one page, one object.
        """


@t.runtime_checkable
class Sweeper(t.Protocol):
    """A provider whose instances have secondary resources that can outlive them."""

    def list_leftovers(self, selector: Selector, ctx: Context) -> LeftoverListing:
        """Marked secondary resources that no instance uses."""

    def delete_leftover(self, leftover: Leftover, ctx: Context) -> None:
        """Idempotent; re-reads marks and incarnation and leaves alone what has changed or is used again."""


@t.runtime_checkable
class Preflight(t.Protocol):
    """A provider whose backend can say, without doing it, what a create would be refused with."""

    def preflight(self, request: CreateRequest, ctx: Context) -> list[str]:
        """One sentence for each thing a real create would be refused for, none when it would be accepted.

        Called in check mode, once for many requests that differ in nothing but their names. Changes nothing.
        """


@t.runtime_checkable
class Diagnoser(t.Protocol):
    """A provider that can show what a person would look at first when an instance does not do what it should."""

    def diagnose(self, ref: InstanceRef, ctx: Context) -> str:
        """The end of console, log and events, of some 16,000 characters at most, without secrets.

        C(NotFound) when the incarnation is gone.
        """


@dataclasses.dataclass(frozen=True)
class ProviderType:
    """What is known of a type without importing its SDK.

    Another collection's type C(acme.cloud.thing) is the C(PROVIDER_TYPE) of
    C(ansible_collections.acme.cloud.plugins.plugin_utils.thing).

    :ivar schema: JSON schema (draft 2020-12) of its configuration block.
    :ivar takes_cloud_init: whether C(cloud_init) may replace C(squid) (virtual machines only).
    :ivar build: (configured name, validated block, host) -> provider; never dials. Raises MissingSDK.
    """

    schema: t.Mapping[str, t.Any]
    takes_cloud_init: bool
    build: t.Callable[[str, t.Mapping[str, t.Any], ProviderHost], Provider]
