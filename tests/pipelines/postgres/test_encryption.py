"""TLS to a target or source database: verified, and warned about, as for the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflow.errors import DataFlowError
from dataflow.model.exposure import UnencryptedConnection
from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.postgres.transactions import transaction
from tests.certificates import write_certificate
from tests.tls_proxy import TlsProxy, find_outer_address


def ask(url: str) -> None:
    with transaction(Connection("dwh", url)) as session:
        session.execute("select 1")


def test_a_pipeline_connection_verifies_its_server(postgres_url: str, tmp_path: Path) -> None:
    certificate = write_certificate(tmp_path / "server.pem", "127.0.0.1")
    other = write_certificate(tmp_path / "other.pem", "127.0.0.1")
    with TlsProxy(postgres_url, certificate=certificate) as proxy:
        ask(proxy.url_with(f"sslmode=verify-full&sslrootcert={certificate}"))
        assert proxy.encrypted == 1
        with pytest.raises(DataFlowError, match="certificate verify failed"):
            ask(proxy.url_with(f"sslmode=verify-full&sslrootcert={other}"))


def test_a_pipeline_connection_that_exposes_its_password_causes_a_warning(postgres_url: str) -> None:
    address = find_outer_address()
    if address is None:
        pytest.skip("this machine has no address but loopback ones")
    with (
        TlsProxy(postgres_url, address) as proxy,
        pytest.warns(UnencryptedConnection, match="The connection dwh is not encrypted"),
    ):
        ask(proxy.url)
