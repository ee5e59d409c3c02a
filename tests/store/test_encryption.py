"""Connections to a PostgreSQL store are encrypted, or there is a warning about an exposed password."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataflow import errors
from dataflow.model.exposure import UnencryptedConnection, is_this_machine
from dataflow.store.postgres import PostgresDatabase
from tests.certificates import write_certificate
from tests.store.world import SCHEMA
from tests.tls_proxy import TlsProxy, find_outer_address


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return write_certificate(tmp_path / "server.pem", "127.0.0.1")


@pytest.fixture
def proxy(shared_database_url: str, certificate: Path) -> Iterator[TlsProxy]:
    with TlsProxy(shared_database_url, certificate=certificate) as proxy:
        yield proxy


@pytest.fixture
def outer_address() -> str:
    found = find_outer_address()
    if found is None:
        pytest.skip("this machine has no address but loopback ones")
    return found


def ask(url: str) -> None:
    database = PostgresDatabase(url, SCHEMA)
    try:
        database.read(lambda tx: tx.rows("reading.now"))
    finally:
        database.close()


def test_verify_full_reaches_the_server_of_the_certificate(proxy: TlsProxy, certificate: Path) -> None:
    ask(proxy.url_with(f"sslmode=verify-full&sslrootcert={certificate}"))
    assert proxy.encrypted == 1


def test_verify_full_refuses_another_certificate_at_once(proxy: TlsProxy, tmp_path: Path) -> None:
    other = write_certificate(tmp_path / "other.pem", "127.0.0.1")
    with pytest.raises(errors.StoreDenied, match=r"certificate verify failed.*sslrootcert"):
        ask(proxy.url_with(f"sslmode=verify-full&sslrootcert={other}"))


def test_verify_full_refuses_a_server_whose_certificate_names_another_host(
    shared_database_url: str, tmp_path: Path
) -> None:
    stranger = write_certificate(tmp_path / "stranger.pem", "192.0.2.77")
    with (
        TlsProxy(shared_database_url, certificate=stranger) as proxy,
        pytest.raises(errors.StoreDenied, match=r"does not match host name"),
    ):
        ask(proxy.url_with(f"sslmode=verify-full&sslrootcert={stranger}"))


def test_verify_full_refuses_a_server_without_tls(shared_database_url: str, certificate: Path) -> None:
    with (
        TlsProxy(shared_database_url) as proxy,
        pytest.raises(errors.StoreDenied, match=r"does not support SSL"),
    ):
        ask(proxy.url_with(f"sslmode=verify-full&sslrootcert={certificate}"))


def test_an_unencrypted_password_to_another_host_causes_a_warning(
    shared_database_url: str, outer_address: str
) -> None:
    with TlsProxy(shared_database_url, outer_address) as proxy:
        with pytest.warns(UnencryptedConnection, match=r"is not encrypted.*sslmode=verify-full") as caught:
            ask(proxy.url)
        password = proxy.url.partition("://")[2].partition("@")[0].partition(":")[2]
        assert password and password not in str(caught[0].message)


def test_there_is_no_warning_on_this_machine_or_over_tls(
    shared_database_url: str, outer_address: str, tmp_path: Path
) -> None:
    certificate = write_certificate(tmp_path / "outer.pem", outer_address)
    with (
        TlsProxy(shared_database_url, outer_address, certificate) as proxy,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        ask(shared_database_url)
        ask(proxy.url_with(f"sslmode=verify-full&sslrootcert={certificate}"))
        assert proxy.encrypted == 1


OURS = (
    *("", "/run/postgresql", "@abstract", "localhost", "db.localhost", "LOCALHOST."),
    *("127.0.0.1", "127.9.9.9", "::1", "[::1]", "::ffff:127.0.0.1"),
)
OTHERS = ("db", "db.example.org", "10.0.0.1", "0.0.0.0", "fe80::1%eth0", "localhost.example.org")


@pytest.mark.parametrize("host", (*OURS, *OTHERS))
def test_loopback_addresses_and_sockets_are_this_machine(host: str) -> None:
    assert is_this_machine(host) is (host in OURS)
