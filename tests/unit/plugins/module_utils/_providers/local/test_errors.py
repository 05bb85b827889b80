# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the operating system says, as the reasons of the contract."""

from __future__ import annotations

import errno
import os

import pytest

from ansible_collections.crawl.egress.plugins.module_utils._providers.local.errors import Damaged, Fault, classify
from ansible_collections.crawl.egress.plugins.module_utils.provider import ErrorClass, Reason

WHERE = {"op": "create", "provider": "lab", "provider_id": "hosts/h/proxies/a", "directory": "/srv/egress"}


@pytest.mark.parametrize(
    ("number", "error_class", "reason"),
    [
        (errno.ENOSPC, ErrorClass.TRANSIENT, Reason.STORAGE_FULL),
        (errno.EDQUOT, ErrorClass.TRANSIENT, Reason.STORAGE_FULL),
        (errno.EACCES, ErrorClass.PERMANENT, Reason.FORBIDDEN),
        (errno.EPERM, ErrorClass.PERMANENT, Reason.FORBIDDEN),
        (errno.EROFS, ErrorClass.PERMANENT, Reason.FORBIDDEN),
        (errno.ENOTDIR, ErrorClass.PERMANENT, Reason.INVALID_CONFIG),
        (errno.ENAMETOOLONG, ErrorClass.PERMANENT, Reason.INVALID_CONFIG),
        (errno.EADDRNOTAVAIL, ErrorClass.PERMANENT, Reason.INVALID_CONFIG),
        (errno.EADDRINUSE, ErrorClass.PERMANENT, Reason.CONFLICT),
        (errno.EMFILE, ErrorClass.TRANSIENT, Reason.API_ERROR),
        (errno.EIO, ErrorClass.TRANSIENT, Reason.API_ERROR),
        (errno.ESTALE, ErrorClass.TRANSIENT, Reason.UNREACHABLE),
        (errno.ENOENT, ErrorClass.TRANSIENT, Reason.UNCLASSIFIED),
        (errno.ENOTRECOVERABLE, ErrorClass.TRANSIENT, Reason.UNCLASSIFIED),
    ],
)
def test_numbers(number, error_class, reason):
    error = classify(OSError(number, os.strerror(number), "/srv/egress/x"), **WHERE)
    assert (error.error_class, error.reason) == (error_class, reason)
    assert "/srv/egress/x" in error.message
    assert (error.op, error.provider, error.provider_id) == ("create", "lab", "hosts/h/proxies/a")


def test_an_error_without_number_and_file_names_the_directory():
    error = classify(OSError("odd"), **WHERE)
    assert error.reason is Reason.UNCLASSIFIED
    assert "/srv/egress" in error.message


def test_no_space_names_the_directory():
    full = "No space left on device"
    assert classify(OSError(errno.ENOSPC, full), **WHERE).message == f"/srv/egress: {full}"
    message = classify(OSError(errno.ENOSPC, full, "/run/x"), **WHERE).message
    assert message == f"/run/x: {full} (local.directory is /srv/egress)"


def test_a_fault_of_our_own_brings_its_reason():
    error = classify(Fault(Reason.BUSY, "at work"), **WHERE)
    assert (error.reason, error.message) == (Reason.BUSY, "at work")


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        ("create", Reason.CONFLICT),
        ("delete", Reason.CONFLICT),
        ("mark", Reason.CONFLICT),
        ("get", Reason.API_ERROR),
        ("list", Reason.API_ERROR),
    ],
)
def test_a_damaged_file_is_no_evidence(op, reason):
    error = classify(Damaged("/srv/egress/state.json", "not JSON"), **{**WHERE, "op": op})
    assert error.reason is reason
    assert "/srv/egress/state.json" in error.message
    assert "put it right" in error.message
