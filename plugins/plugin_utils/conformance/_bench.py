# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""What each case works with: requests, a provider that may only fail as the contract says, and words to judge by."""

from __future__ import annotations

import contextlib
import dataclasses
import secrets
import threading
import typing as t
from collections.abc import Callable, Iterator, Sequence

from ...module_utils._names import derived_uid, instance_name
from ...module_utils._squid.model import SquidConfig
from ...module_utils.provider import (
    DEFAULT_PREFIX,
    Checker,
    Context,
    Created,
    CreateRequest,
    Deleted,
    Diagnoser,
    ErrorClass,
    Guest,
    Instance,
    InstanceRef,
    Leftover,
    LeftoverListing,
    Listing,
    Marker,
    Marks,
    Placement,
    Preflight,
    Profile,
    Provider,
    ProviderError,
    Reason,
    Scope,
    Selector,
    State,
    Sweeper,
    TargetStatus,
)
from .harness import PASSWORD_HASH, Harness, Place, Trouble, Variant

T = t.TypeVar("T")

#: What a guest holds in secret: as the salt of a password hash, which takes 16 of these characters, and as user data.
SECRET = PASSWORD_HASH.split("$")[2]
CLOUD_INIT = f"#cloud-config\nwrite_files: [{{path: /etc/secret, content: {SECRET}}}]\n"

FIRST_PORT = 23128
_POLL = 0.02


class Violation(Exception):
    """The provider breaks the rule. The message says what was seen."""


class NotApplicable(Exception):
    """The rule is pointless for this provider. The message says why."""


def require(condition: bool, message: str) -> None:
    if not condition:
        raise Violation(message)


def expect(value: object, kind: type[T], what: str) -> T:
    """The value, which must be of that kind."""
    if isinstance(value, kind):
        return value
    raise Violation(f"{what}: {told(value) if isinstance(value, ProviderError) else repr(value)}")


@dataclasses.dataclass(frozen=True)
class Case:
    """One rule. :ivar rule: one sentence. :ivar check: raises Violation or NotApplicable."""

    id: str
    level: t.Literal["MUST", "SHOULD"]
    rule: str
    check: Callable[[Bench], None]

    def __str__(self) -> str:
        return self.id


def must(check: Callable[[Bench], None]) -> Case:
    """A case called after the function; its docstring is the rule."""
    return Case(check.__name__.replace("_", "-"), "MUST", " ".join((check.__doc__ or "").split()), check)


def should(check: Callable[[Bench], None]) -> Case:
    return dataclasses.replace(must(check), level="SHOULD")


class Guarded:
    """The provider under test. Whatever it raises that is no ProviderError is a Violation."""

    def __init__(self, inner: Provider) -> None:
        self.inner = inner

    def scope_of(self, placement: Placement) -> Scope | None:
        return self._call("scope_of", lambda: self.inner.scope_of(placement))

    def scope_of_id(self, provider_id: str) -> Scope:
        return self._call("scope_of_id", lambda: self.inner.scope_of_id(provider_id))

    def spec_content(self, placement: Placement, port: int, guest: Guest) -> t.Mapping[str, t.Any]:
        return self._call("spec_content", lambda: self.inner.spec_content(placement, port, guest))

    def create(self, request: CreateRequest, ctx: Context) -> Created:
        return self._call("create", lambda: self.inner.create(request, ctx), Created)

    def get(self, provider_id: str, ctx: Context) -> Instance:
        return self._call("get", lambda: self.inner.get(provider_id, ctx), Instance)

    def delete(self, ref: InstanceRef, ctx: Context) -> Deleted:
        return self._call("delete", lambda: self.inner.delete(ref, ctx), Deleted)

    def list_by_tag(self, selector: Selector, ctx: Context) -> Listing:
        return self._call("list_by_tag", lambda: self.inner.list_by_tag(selector, ctx), Listing)

    def set_mark(self, ref: InstanceRef, key: str, value: str | None, ctx: Context) -> None:
        marker = self.inner
        if not isinstance(marker, Marker):
            raise NotApplicable("the provider is no Marker")
        self._call("set_mark", lambda: marker.set_mark(ref, key, value, ctx))

    def check(self, ctx: Context) -> list[TargetStatus]:
        checker = self.inner
        if not isinstance(checker, Checker):
            raise NotApplicable("the provider is no Checker")
        return self._call("check", lambda: checker.check(ctx), list)

    def list_leftovers(self, selector: Selector, ctx: Context) -> LeftoverListing:
        sweeper = self._sweeper()
        return self._call("list_leftovers", lambda: sweeper.list_leftovers(selector, ctx), LeftoverListing)

    def delete_leftover(self, leftover: Leftover, ctx: Context) -> None:
        sweeper = self._sweeper()
        self._call("delete_leftover", lambda: sweeper.delete_leftover(leftover, ctx))

    def preflight(self, request: CreateRequest, ctx: Context) -> list[str]:
        inner = self.inner
        if not isinstance(inner, Preflight):
            raise NotApplicable("the provider is no Preflight")
        return self._call("preflight", lambda: inner.preflight(request, ctx), list)

    def diagnose(self, ref: InstanceRef, ctx: Context) -> str:
        diagnoser = self.inner
        if not isinstance(diagnoser, Diagnoser):
            raise NotApplicable("the provider is no Diagnoser")
        return self._call("diagnose", lambda: diagnoser.diagnose(ref, ctx), str)

    def has(self, interface: type) -> bool:
        return isinstance(self.inner, interface)

    def _sweeper(self) -> Sweeper:
        if not isinstance(self.inner, Sweeper):
            raise Violation("secondary-resources is explicit, but the provider is no Sweeper")
        return self.inner

    def _call(self, method: str, call: Callable[[], T], kind: type | None = None) -> T:
        try:
            value = call()
        except (ProviderError, Violation, NotApplicable):
            raise
        except Exception as error:
            where = error.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            line = f" ({where.tb_frame.f_code.co_filename}:{where.tb_lineno})" if where else ""
            raise Violation(f"{method} raises {type(error).__name__}: {error}{line}") from error
        if kind is not None and not isinstance(value, kind):
            raise Violation(f"{method} returns {value!r}, no {kind.__name__}")
        return value


class UnderWay(t.Generic[T]):
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], T], name: str) -> None:
        self.name = name
        self._call = call
        self._outcome: list[T | Exception] = []
        self._thread = threading.Thread(target=self._run, daemon=True, name="egress-kit")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._outcome.append(self._call())
        except Exception as error:  # noqa: BLE001 - handed on in outcome()
            self._outcome.append(error)

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def outcome(self, seconds: float) -> T | ProviderError:
        """What it returned, or the ProviderError that it raised. :raises Violation: it does not end in time."""
        self._thread.join(seconds)
        require(not self.running, f"{self.name} has not ended after {seconds:g} s")
        (outcome,) = self._outcome
        if isinstance(outcome, Exception) and not isinstance(outcome, ProviderError):
            raise outcome
        return outcome


class Bench:
    """One case's surroundings.

    :ivar provider: FULL, the one under test.
    :ivar install: of this case alone.
    """

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.provider = self.build()
        self.profile: Profile = self.provider.inner.profile
        self.places: list[Place] = list(harness.places())
        self.install = f"kit-{secrets.token_hex(6)}"
        self.cancel = threading.Event()
        self._ports: dict[str, int] = {}

    @classmethod
    @contextlib.contextmanager
    def over(cls, harness: Harness) -> Iterator[Bench]:
        """At the end, what is still under way is told to stop."""
        bench = cls(harness)
        try:
            yield bench
        finally:
            bench.cancel.set()

    # --- making

    def build(self, variant: Variant = Variant.FULL, prefix: str = DEFAULT_PREFIX) -> Guarded:
        return Guarded(self.harness.build(variant, prefix))

    def ctx(self, seconds: float | None = None) -> Context:
        return Context.within(self.harness.settle if seconds is None else seconds, self.harness.clock, self.cancel)

    def guest(self) -> Guest:
        """Squid with a secret in it; every provider honours that."""
        user = {"name": "kit", "password_hash": PASSWORD_HASH}
        return Guest(squid=SquidConfig.from_document({"users": [user], "allowed_sources": ["127.0.0.0/8"]}))

    def request(
        self, proxy: str = "one", place: int = 0, *, placement: Placement | None = None, **marks: t.Any
    ) -> CreateRequest:
        """What the engine would ask for. Equal arguments give equal requests.

        :param marks: other than those of a proxy of pool C(kit).
        """
        uid = derived_uid(self.install, "default", proxy)
        port = self._ports.setdefault(proxy, FIRST_PORT + len(self._ports))
        wanted = self.places[place].placement if placement is None else placement
        plain = Marks(
            uid=uid,
            install=self.install,
            namespace="default",
            name=proxy,
            pool="kit",
            provider=self.harness.name,
            port=port,
            spec_hash="0123456789abcdef" * 2,
            spec_version=1,
            generation=7,
        )
        return CreateRequest(
            name=instance_name(uid),
            scope=Scope(self.places[place].scope),
            placement=wanted,
            port=port,
            guest=self.guest(),
            marks=dataclasses.replace(plain, **marks),
        )

    def create(self, request: CreateRequest | None = None) -> Created:
        return self.provider.create(request or self.request(), self.ctx())

    def get(self, provider_id: str) -> Instance:
        return self.provider.get(provider_id, self.ctx())

    def delete(self, created: Created) -> Deleted:
        return self.provider.delete(ref(created), self.ctx())

    def selector(self, **more: t.Any) -> Selector:
        return Selector(**{"install": self.install, **more})

    def listing(self, **selector: t.Any) -> Listing:
        return self.provider.list_by_tag(self.selector(**selector), self.ctx())

    def listed(self, **selector: t.Any) -> list[str]:
        """Provider IDs, sorted."""
        return sorted(instance.provider_id for instance in self.listing(**selector).instances)

    # --- troubling

    def trouble(self, kind: Trouble, subject: str | None = None) -> contextlib.AbstractContextManager[None]:
        """:param subject: None for the first scope."""
        why = kind.not_applicable(self.profile)
        if why is not None:
            raise NotApplicable(why)
        return self.harness.trouble(kind, self.places[0].scope if subject is None else subject)

    def relabel(self, created: Created, /, **marks: str | None) -> None:
        """Behind the provider's back, set marks by their short name or remove them (None)."""
        labels = {f"{DEFAULT_PREFIX}-{key}": value for key, value in marks.items()}
        self.harness.relabel(created.provider_id, labels)

    @contextlib.contextmanager
    def being_deleted(self, created: Created) -> Iterator[UnderWay[Deleted]]:
        """A delete is under way, in another thread, and does not end before the context does."""
        with self.trouble(Trouble.SLOW_DELETE, created.provider_id):
            deletion = self.start("delete", lambda: self.delete(created))
            if self.profile.delete_return == "waits":
                self.until(lambda: self._is_dying(created), "an instance that is being deleted no longer serves")
            else:
                deletion.outcome(self.harness.patience)
            yield deletion
        deletion.outcome(self.harness.settle)
        self.gone(created)

    def _is_dying(self, created: Created) -> bool:
        """Only for waiting: the case judges."""
        try:
            instance = self.get(created.provider_id)
        except ProviderError:
            return True
        return instance.deleting or instance.state in (State.STOPPED, State.TERMINATED)

    # --- judging

    def refused(self, call: Callable[[], t.Any], *expected: ErrorClass | Reason, when: str) -> ProviderError:
        """The error of a call that must fail in one of these ways."""
        words = " or ".join(e.value if isinstance(e, ErrorClass) else e.wire for e in expected)
        try:
            value = call()
        except ProviderError as error:
            fits = error.error_class in expected or error.reason in expected
            require(fits, f"{when}: {told(error)}; {words} is expected")
            return error
        raise Violation(f"{when}: it returns {value!r}; {words} is expected")

    def gone(self, created: Created) -> None:
        """Wait until Get says NotFound."""
        self.until(lambda: self.is_gone(created.provider_id), "Get says NotFound after a Delete")

    def is_gone(self, provider_id: str) -> bool:
        try:
            self.get(provider_id)
        except ProviderError as error:
            if error.error_class is ErrorClass.NOT_FOUND:
                return True
            raise Violation(f"Get of {provider_id} fails: {told(error)}") from error
        return False

    def running(self, created: Created) -> Instance:
        """Wait until it runs."""

        def look() -> Instance | None:
            instance = self.get(created.provider_id)
            return instance if instance.serves else None

        return self.until(look, "an instance that was created is Running")

    def until(self, look: Callable[[], T | None], what: str) -> T:
        """Look again and again until there is something, and return it."""
        ctx = self.ctx()
        while not (found := look()):
            require(ctx.remaining() > 0, f"it does not come true within {self.harness.settle:g} s that {what}")
            ctx.sleep(_POLL)
        return found

    def start(self, name: str, call: Callable[[], T]) -> UnderWay[T]:
        return UnderWay(call, name)

    def together(self, *calls: tuple[str, Callable[[], t.Any]]) -> list[t.Any]:
        """Outcomes of calls that begin at one moment, each in a thread of its own; a ProviderError is an outcome."""
        barrier = threading.Barrier(len(calls))

        def at_once(call: Callable[[], t.Any]) -> Callable[[], t.Any]:
            def wait_and_call() -> t.Any:
                barrier.wait()
                return call()

            return wait_and_call

        under_way = [self.start(name, at_once(call)) for name, call in calls]
        return [each.outcome(2 * self.harness.settle) for each in under_way]

    def untouched(self, before: Instance) -> None:
        """The instance is as it was, but for what time makes of it."""
        after = self.get(before.provider_id)
        for key in ("incarnation", "marks", "created_at", "deleting"):
            old, new = getattr(before, key), getattr(after, key)
            require(old == new, f"{before.provider_id} was changed: {key} is {new!r}, was {old!r}")

    def calls_of(self, call: Callable[[], t.Any]) -> int:
        """How many requests to the backend it costs; it may fail as providers do."""
        before = self.harness.backend_calls()
        with contextlib.suppress(ProviderError):
            call()
        return self.harness.backend_calls() - before


def ref(created: Created) -> InstanceRef:
    return InstanceRef(created.provider_id, created.incarnation)


def told(error: ProviderError) -> str:
    return f"{error.error_class.value}/{error.reason.wire} ({error.message})"


def errors_in(outcomes: Sequence[t.Any]) -> list[ProviderError]:
    return [outcome for outcome in outcomes if isinstance(outcome, ProviderError)]
