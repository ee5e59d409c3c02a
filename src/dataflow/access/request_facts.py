"""What a request says about itself, as far as it matters for who may do what; no framework's types."""

from __future__ import annotations

from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FORWARDING = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
"""Headers by which a proxy says whom a request comes from."""

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


@record
class RequestFacts:
    """One request; of a header that it does not have, the field is empty."""

    method: str
    scheme: str
    host: str
    address: str  # of the other end of the connection
    origin: str = ""
    sec_fetch_site: str = ""
    authorization: str = ""
    cookie: str = ""
    forwarding: tuple[tuple[str, str], ...] = ()  # the headers of FORWARDING that it has

    _hidden = ("authorization", "cookie")

    @property
    def bearer(self) -> str:
        """The API token that the request carries. Browsers send other kinds by themselves, never this one."""
        kind, _, token = self.authorization.partition(" ")
        return token.strip() if kind.lower() == "bearer" else ""


def facts_of(method: str, scheme: str, address: str, headers: Mapping[str, str]) -> RequestFacts:
    """Return the facts of a request; the names of `headers` are in small letters."""
    return RequestFacts(
        method=method.upper(),
        scheme=scheme,
        host=headers.get("host", ""),
        address=address,
        origin=headers.get("origin", ""),
        sec_fetch_site=headers.get("sec-fetch-site", ""),
        authorization=headers.get("authorization", ""),
        cookie=headers.get("cookie", ""),
        forwarding=tuple((name, headers[name]) for name in FORWARDING if name in headers),
    )
