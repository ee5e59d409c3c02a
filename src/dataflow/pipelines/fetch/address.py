"""URLs, parsed once so that the same value is signed, sent, compared and shown; no network here."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_plus, urlencode, urljoin, urlsplit

from dataflow.errors import FetchError
from dataflow.model.record import record, replace
from dataflow.model.url_text import is_secret_name
from dataflow.model.wording import shortened

PORTS = {"http": 80, "https": 443}
# Characters that RFC 3986 allows in a path or query, plus `%`: existing escapes stay unchanged.
_PLAIN = "/%:@!$&'()*+,;=~-._?[]"
_DOUBTFUL_NAME = re.compile(r"code|pin", re.IGNORECASE)  # may be personal, but also a country or shop code


@record
class Address:
    """Target of a request; `target` is path and query, byte for byte as sent."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host and port as in the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port: the scope of credentials."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        """The full URL, including secrets in its query: not for messages."""
        return self.origin + self.target

    def shown(self, harmless: tuple[str, ...] = ()) -> str:
        """The URL for messages: its query shows only short numbers and parameters known to be harmless."""
        path, mark, query = self.target.partition("?")
        return self.origin + path + mark + "&".join(_shown(part, harmless) for part in query.split("&"))

    __str__ = shown


def parse_address(url: str) -> Address:
    """Parse an absolute http or https URL; FetchError when it is invalid or contains a password."""
    try:
        split = urlsplit(url)
        port = split.port
        host = (split.hostname or "").encode("ascii" if ":" in (split.hostname or "") else "idna").decode()
    except ValueError:
        raise FetchError(f"The URL {_harmless(url)} is malformed: write http(s)://host/path.") from None
    if split.scheme not in PORTS or not host:
        raise FetchError(f"The URL {_harmless(url)} is not an http or https URL: write http(s)://host/path.")
    if "@" in split.netloc:
        raise FetchError(
            f"The URL {_harmless(url)} contains a user or password: set them as the source's credentials."
        )
    target = quote(split.path or "/", safe=_PLAIN.replace("?", ""))
    if split.query:
        target += "?" + quote(split.query, safe=_PLAIN)
    return Address(split.scheme, host, PORTS[split.scheme] if port is None else port, target)


def join_address(base: Address, link: str) -> Address:
    """Resolve a link found on the page at `base`; FetchError when the link is not a URL."""
    try:
        url = urljoin(base.url, link)
    except ValueError:
        raise FetchError(f"The page at {base} links to {_harmless(link)}, which is not a URL.") from None
    return parse_address(url)


def with_query(address: Address, **values: str) -> Address:
    """The address with these query parameters set; the others keep their values and order."""
    path, _, query = address.target.partition("?")
    kept = [part for part in query.split("&") if part and unquote_plus(part.partition("=")[0]) not in values]
    return replace(address, target=path + "?" + "&".join([*kept, urlencode(values)]))


def _shown(parameter: str, harmless: tuple[str, ...]) -> str:
    """A query parameter for messages: only short numbers under harmless names are shown."""
    name, equals, value = parameter.partition("=")
    if not equals:
        return parameter and "…"
    is_secret = is_secret_name(name) or _DOUBTFUL_NAME.search(name)
    is_plain = re.fullmatch(r"[0-9]{1,12}", value) or parameter in harmless
    return parameter if is_plain and not is_secret else f"{name}=…"


def _harmless(url: str) -> str:
    """The part of a malformed URL that holds no secret."""
    return repr(shortened(url.partition("?")[0].rpartition("@")[2], 200))
