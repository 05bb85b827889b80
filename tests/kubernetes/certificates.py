# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates for a cluster that lives for a test run."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

LIFETIME = datetime.timedelta(days=2)


class Authority:
    """A certificate authority.

    Attributes:
        certificate: its own, as PEM.
    """

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        may_sign = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
        extensions = (x509.BasicConstraints(True, None), may_sign)
        certificate = self._certificate(self._name, self._key.public_key(), *extensions)
        self.certificate = certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, name: str, addresses: Iterable[str], folder: Path) -> tuple[Path, Path]:
        """Write C(NAME.crt) and C(NAME.key), for a server with these addresses, and return their paths."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address)) for address in addresses])
        certificate = self._certificate(_named(name), key.public_key(), names)
        (folder / f"{name}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return folder / f"{name}.crt", write_key(key, folder / f"{name}.key")

    def _certificate(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *extensions: x509.ExtensionType
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - LIFETIME)
            .not_valid_after(now + LIFETIME)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=True)
        return builder.sign(self._key, hashes.SHA256())


def write_key(key: ec.EllipticCurvePrivateKey, path: Path) -> Path:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    return path


def new_key(path: Path) -> Path:
    return write_key(ec.generate_private_key(ec.SECP256R1()), path)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
