# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to this collection: no stability promise.

"""C(desired_file) of C(egress_fleet): read on the controller, so that the run only ever sees C(desired)."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterable, Mapping

import yaml
from ansible.errors import AnsibleError, AnsibleFileNotFound
from yaml import MarkedYAMLError

from ..module_utils._errors import ArgumentError
from ..module_utils._spec.validate import type_of
from ._door import Door, plain

if t.TYPE_CHECKING:
    from ansible.parsing.dataloader import DataLoader

#: Options that stand in for keys of the document, so that C(module_defaults) can set them for all modules at once.
_STAND_INS = ("install", "providers", "mark_prefix")


def with_document(door: Door, args: dict[str, t.Any]) -> dict[str, t.Any]:
    """The options of a task with the whole document under C(desired), and without those that it came from."""
    params = door.validate(args)
    desired = params["desired"] if params["desired_file"] is None else read_document(door, params["desired_file"])
    if desired:
        desired = {**{key: params[key] for key in _STAND_INS if params[key] is not None}, **desired}
    rest = {key: value for key, value in args.items() if key not in ("desired_file", *_STAND_INS)}
    return {**rest, "desired": desired}


def read_document(door: Door, path: str) -> dict[str, t.Any]:
    """The document of a task, looked for where tasks look for files. Raises C(ArgumentError)."""
    return load_document(door._loader, path, lambda: door._find_needle("files", path))


def load_document(loader: DataLoader, path: str, find: t.Callable[[], str]) -> dict[str, t.Any]:
    """:param path: what the user calls the file. :param find: where it is.

    :raises ArgumentError: naming the file. No message quotes a line of it: it may be a secret one.
    """
    try:
        file = loader.path_dwim(find())
        text = loader.get_text_file_contents(file)
        _refuse_repeated_keys(text)
        document = loader.load(text, file_name=file)
        if isinstance(document, Mapping):
            return plain(document)
    except _RepeatedKey as error:
        problem = str(error)
    except AnsibleFileNotFound:
        problem = "there is no such file"
    except AnsibleError as error:
        problem = f"{error.message}{_position(error.__cause__)}"
    else:
        problem = "it is empty" if document is None else f"it holds {type_of(document)}, a mapping is needed"
    raise ArgumentError([f"desired_file {path!r}: {problem}"])


class _RepeatedKey(Exception):
    """Ansible would take the last value and only warn, of JSON not even that."""

    def __init__(self, key: str, where: str = "") -> None:
        super().__init__(f"the key {key!r} is given twice{where}")


def _refuse_repeated_keys(text: str) -> None:
    """What is neither JSON nor YAML has none; it is told by who loads it."""
    try:
        json.loads(text, object_pairs_hook=_unique)
    except ValueError:
        try:
            _refuse_repeated_keys_below(yaml.compose(text, Loader=yaml.SafeLoader), set())
        except yaml.YAMLError:
            return


def _unique(pairs: Iterable[tuple[str, t.Any]]) -> dict[str, t.Any]:
    found: dict[str, t.Any] = {}
    for key, value in pairs:
        if key in found:
            raise _RepeatedKey(key)
        found[key] = value
    return found


def _refuse_repeated_keys_below(node: yaml.Node | None, seen: set[int]) -> None:
    """:param seen: nodes that were looked at, since an alias shows a node again, perhaps below itself."""
    if not isinstance(node, yaml.CollectionNode) or id(node) in seen:
        return
    seen.add(id(node))
    if not isinstance(node, yaml.MappingNode):
        for item in node.value:
            _refuse_repeated_keys_below(item, seen)
        return
    keys: set[str] = set()
    for key, value in node.value:
        if isinstance(key, yaml.ScalarNode):
            if key.value in keys:
                raise _RepeatedKey(key.value, f" (line {key.start_mark.line + 1}, column {key.start_mark.column + 1})")
            keys.add(key.value)
        _refuse_repeated_keys_below(value, seen)


def _position(cause: BaseException | None) -> str:
    mark = cause.problem_mark if isinstance(cause, MarkedYAMLError) else None
    return f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
