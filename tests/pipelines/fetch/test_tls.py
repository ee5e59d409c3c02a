"""The same over TLS: only to a server with a certificate that the system trusts."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import threading
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from dataflow.errors import FetchError, FetchStopped
from dataflow.model.record import replace
from tests.pipelines.api_server import ApiServer, Hawk
from tests.pipelines.fetch.fetching import HAWK, QUICK, fetch, ids_in, make_rows, open_staging, source_of


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a certificate for 127.0.0.1, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    host = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    signed = (
        builder.not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(1))
        .add_extension(host, False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(
        signed.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, *plain)
    )
    return path


@pytest.fixture
def context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))


@pytest.mark.usefixtures("trusted")
def test_pages_come_over_tls(tmp_path: Path, context: ssl.SSLContext) -> None:
    with ApiServer(make_rows(3000), 1000, Hawk("our-id", "our-key"), tls=context) as server:
        assert ids_in(fetch(source_of(server, credentials=HAWK), tmp_path)) == list(range(3000))
        assert server.connections == 1


def test_a_server_with_a_certificate_of_its_own_making_is_refused_at_once(
    tmp_path: Path, context: ssl.SSLContext
) -> None:
    with ApiServer(make_rows(30), 10, tls=context) as server:
        with pytest.raises(FetchError, match=r"The certificate of https://127.* is not valid: self"):
            fetch(source_of(server, credentials=HAWK), tmp_path)
        assert server.seen == []


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("fault", ["hang", "trickle"])
def test_the_time_limit_holds_over_tls(tmp_path: Path, context: ssl.SSLContext, fault: str) -> None:
    with ApiServer(make_rows(30), 10, tls=context) as server:
        server.fail(1, fault)
        source = source_of(server, limits=replace(QUICK, request_seconds=0.5))
        assert ids_in(fetch(source, tmp_path)) == list(range(30))


@pytest.mark.usefixtures("trusted")
def test_a_stop_is_noticed_over_tls(tmp_path: Path, context: ssl.SSLContext) -> None:
    with ApiServer(make_rows(30), 10, tls=context) as server:
        server.fail(1, "hang")
        source = source_of(server)
        stop = threading.Event()
        parts = source.fetch(open_staging(source, tmp_path), stop)
        next(parts)
        stop.set()
        before = time.monotonic()
        with pytest.raises(FetchStopped):
            next(parts)
        assert time.monotonic() - before < 3
