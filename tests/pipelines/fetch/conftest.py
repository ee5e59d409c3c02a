"""A certificate for the test servers, and a context that trusts it."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from tests.certificates import write_certificate


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a self-signed certificate for 127.0.0.1 and api.example, and its key."""
    return write_certificate(tmp_path_factory.mktemp("tls") / "server.pem", "127.0.0.1", "api.example")


@pytest.fixture
def context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
