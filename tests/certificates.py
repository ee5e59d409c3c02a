"""Certificates for servers of tests."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def write_certificate(path: Path, *addresses: str) -> Path:
    """Write a certificate for these addresses and names, signed by itself, and its key to one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, addresses[0])])
    now = datetime.datetime.now(datetime.UTC)
    hosts = [_host(address) for address in addresses]
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    signed = (
        builder.not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(1))
        .add_extension(x509.SubjectAlternativeName(hosts), False)
        .sign(key, hashes.SHA256())
    )
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(
        signed.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, *plain)
    )
    return path


def _host(address: str) -> x509.GeneralName:
    is_number = address.replace(".", "").isdigit()
    return x509.IPAddress(ipaddress.ip_address(address)) if is_number else x509.DNSName(address)
