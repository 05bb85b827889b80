# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the conformance kit needs of a provider's author: to build the provider, and to trouble its backend.

The kit makes requests, marks and guests itself. Everything that the contract has no words for (an instance that
somebody relabelled, a scope that does not answer, a delete that takes long) comes from a L(Harness). Public.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
from collections.abc import Mapping, Sequence

from ...module_utils.provider import DEFAULT_PREFIX, Clock, Placement, Profile, Provider, SystemClock

#: The password hash of the one user of the guests that the kit makes, which nobody may get to see.
PASSWORD_HASH = "$6$KitSentinelXyzzy$" + "k" * 86


class Variant(enum.Enum):
    """Configurations of one and the same backend.

    FULL: every place is configured.
    REDUCED: the scope of the first place is configured no more; where there is only one, another one is instead.
    """

    FULL = "full"
    REDUCED = "reduced"


@dataclasses.dataclass(frozen=True)
class Place:
    """A placement that the provider accepts. :ivar scope: name of the scope in which it puts an instance then."""

    placement: Placement
    scope: str


@dataclasses.dataclass(frozen=True)
class Refusal:
    """A placement that the provider can never satisfy. :ivar field: of it, which is to blame."""

    placement: Placement
    field: str

    @property
    def value(self) -> str:
        return str(getattr(self.placement, self.field))


class Trouble(enum.Enum):
    """What a harness does to its backend: (whom, what, the answers of a Profile that make it impossible).

    The first is what C(subject) of C(Harness.trouble()) names: an instance by its provider ID, or a scope.
    """

    # One instance.
    UNRECOGNISED = (
        "instance",
        "the backend gives it a status that the provider has never heard of",
        {"client_kind": ("subprocess",)},
    )
    CANNOT_TELL = (
        "instance",
        "the backend can't tell how it is (its node is lost, its host paused)",
        {"client_kind": ("subprocess",)},
    )
    DEAD = ("instance", "it has stopped by itself and won't recover")
    NEVER_STARTED = ("instance", "it is there, but was never started", {"provisioning_state": ("create-blocks",)})
    NO_ADDRESS = (
        "instance",
        "it runs, but has no address (yet) that its clients could use",
        {"ip_source": ("assigned-at-create",)},
    )
    SLOW_DELETE = ("instance", "a delete of it begins, but does not end before the trouble does")
    OPERATION = ("instance", "an operation or a lock of the backend has it", {"async_ops": ("none",)})
    OPERATION_FAILED = (
        "instance",
        "the operation that was to make it was accepted, and has failed since",
        {"async_ops": ("none", "backend-lock")},
    )
    ORPHANED = (
        "instance",
        "it vanishes and leaves its secondary resources behind",
        {"secondary_resources": ("none", "cascade")},
    )
    PARTIAL = ("instance", "a list breaks off before it (a page is lost), or finds that it can't be read")
    VERBOSE = ("instance", "its console or log is long (100,000 characters) and quotes C(PASSWORD_HASH) at the end")
    # One scope.
    SLOW_BOOT = (
        "scope",
        "what is made does not become ready before the trouble ends",
        {"create_return": ("blocking",), "readiness": ("immediate",)},
    )
    UNREACHABLE = ("scope", "nothing answers (connections are refused)")
    HANG = ("scope", "requests are accepted and never answered")
    UNAVAILABLE = ("scope", "every request is answered with an error of the backend's own (503)")
    RATE_LIMITED = (
        "scope",
        "every request is answered: too many, try again in 7 seconds (429)",
        {"quota": ("absent",), "client_kind": ("subprocess",)},
    )
    QUOTA = ("scope", "there is no quota or no room for another instance", {"quota": ("absent",)})
    UNAUTHORIZED = ("scope", "the credentials are refused (401)", {"credentials": ("none",)})
    FORBIDDEN = ("scope", "the credentials lack the permission (403)", {"credentials": ("none",)})
    LOST_ANSWER = ("scope", "the next request that changes something has its effect, but its answer is lost")
    GHOST = ("scope", "the next request of a Create is told that something it needs does not exist (404)")

    def __init__(self, whom: str, what: str, spared: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self.whom = whom
        self.what = what
        self.spared = spared or {}

    def not_applicable(self, profile: Profile) -> str | None:
        """Which answer of the Profile says that this can't happen; None when it can."""
        for axis, answers in self.spared.items():
            answer = getattr(profile, axis)
            if answer in answers:
                return f"{axis.replace('_', '-')}: {answer}"
        return None


class MissingHook(Exception):
    """The harness does not make a trouble, although the Profile does not say that it can't happen."""


class Harness:
    """To be derived from, once per provider. One object serves one case; the backend may be shared.

    :cvar name: configured name that C(build()) gives the provider; another word than its type.
    :cvar clock: what the kit waits by.
    :cvar settle: seconds that the backend may take to make an instance run, and to make one vanish.
    :cvar patience: seconds in which a call must have come to an end when its context has: the timeout of one request.
    :cvar credentials: secret texts that C(build()) hands to the provider; they must not be seen anywhere.
    """

    name: str = "kit-one"
    clock: Clock = SystemClock()
    settle: float = 30.0
    patience: float = 10.0
    credentials: Sequence[str] = ()

    def build(self, variant: Variant = Variant.FULL, prefix: str = DEFAULT_PREFIX) -> Provider:
        """A new provider over the backend, as a new process would build it. :param prefix: of its marks."""
        raise NotImplementedError

    def places(self) -> Sequence[Place]:
        """Every scope of FULL in which Create can make something, each at least once."""
        raise NotImplementedError

    def refusals(self) -> Sequence[Refusal]:
        """At least one for each placement field of the Profile."""
        return ()

    def relabel(self, provider_id: str, labels: Mapping[str, str | None]) -> None:
        """Behind the provider's back, set marks of an instance by their full name, or remove them (None)."""
        raise NotImplementedError

    def trouble(self, kind: Trouble, subject: str) -> contextlib.AbstractContextManager[None]:
        """Make a trouble, end it on leaving the context. :raises MissingHook: what the kit counts as a failure."""
        raise MissingHook(kind.name)

    def backend_calls(self) -> int:
        """How many requests the backend has had so far."""
        raise NotImplementedError

    def residue(self, name: str) -> Sequence[str]:
        """What the backend still has under the name of an instance: itself, its disks, seeds, files, addresses."""
        raise NotImplementedError

    def clean(self) -> None:
        """Remove all that the case has left, whatever marks it has. Called once, at its end."""
        raise NotImplementedError
