"""The gate of one server: checks each request, says who sent it, and logs people in and out."""

from __future__ import annotations

from dataflow.access.cookies import LOGIN, SESSION, drop_cookie, find_cookie, make_cookie, name_of
from dataflow.access.next_path import safe_next
from dataflow.access.request_checks import check_listen, check_request
from dataflow.access.role_rules import check_profile, find_role
from dataflow.access.sessions import end_session, find_session, start_login_session, start_user_session
from dataflow.access.start_token import StartToken
from dataflow.access.throttle import Throttle
from dataflow.access.tokens import identify_token
from dataflow.actions.passwords import BOUND_TO_LOGIN
from dataflow.errors import ConfigError, Forbidden, Unauthenticated
from dataflow.model.principal import Permission, Principal, PrincipalKind, Role
from dataflow.model.record import record
from dataflow.secrets.cipher import decrypt
from dataflow.store.accounts import SessionTimes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from dataflow.access.cookies import Cookie
    from dataflow.access.provider import Provider
    from dataflow.access.request_facts import RequestFacts
    from dataflow.config.server import ServerSettings
    from dataflow.store.store import Store

    Lend = Callable[[], AbstractContextManager[Store]]
    """Lends a connection to the store."""

CALLBACK_PATH = "/oauth2callback"
"""Where the identity provider sends people back to; the path that the first DataFlow registered."""


@record
class Visit:
    """A request that passed the checks, and who sent it; None if nobody is logged in."""

    facts: RequestFacts  # as the client sent it, whatever proxies are in between
    principal: Principal | None

    def require(self, permission: Permission) -> Principal:
        """Return who sent the request; Unauthenticated or Forbidden if they may not do this."""
        if self.principal is None:
            raise Unauthenticated("Log in first, or send an API token: Authorization: Bearer dft_…")
        self.principal.require(permission)
        return self.principal


@record
class Entry:
    """How a login went on: the cookies to set, and where to go."""

    cookies: tuple[Cookie, ...]
    location: str


class Gate:
    """Answers who may do what, for one server; its methods may be called from several threads.

    Each gets the caller's own Store. `user` is who started the server: the name of whoever opens its link.
    """

    def __init__(self, settings: ServerSettings, user: str, secret: str = "") -> None:
        """Raise ConfigError if the address must not be listened on with these settings."""
        check_listen(settings)
        self.settings = settings
        self._user = user
        # A browser sends cookies to all ports of a host: each server of a machine has its own names.
        self._session, self._login = f"{SESSION}_{settings.port}", f"{LOGIN}_{settings.port}"
        self._times = SessionTimes(settings.session_idle_seconds, settings.session_seconds)
        self._throttle = Throttle()
        self._start = None if settings.requires_login else StartToken()
        self._secret = secret
        self._provider = self._open_provider(secret) if settings.login else None

    @property
    def start_link(self) -> str:
        """The link to print when the server starts: with a token if nobody logs in."""
        token = f"/start?token={self._start.token}" if self._start else "/"
        return base_url(self.settings) + token

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown in any message: the start token and the secret of the provider."""
        return tuple(one for one in (self._start.token if self._start else "", self._secret) if one)

    def cookie_name(self, visit: Visit) -> str:
        """Return the name of the cookie that a session has."""
        return name_of(self._session, self._is_secure(visit))

    def check(self, facts: RequestFacts) -> Visit:
        """Return the request as its client sent it, of nobody yet; Forbidden if it must not be answered."""
        return Visit(check_request(facts, self.settings), None)

    def identify(self, visit: Visit, lend: Lend) -> Visit:
        """Return a checked request with who sent it; the store is asked only if it must be.

        An API token that is not valid is Unauthenticated; a session that has ended is nobody.
        """
        facts = visit.facts
        if facts.bearer:
            with lend() as store:
                return Visit(facts, identify_token(store, facts.bearer))
        value = find_cookie(facts.cookie, self.cookie_name(visit))
        if not value:
            return visit
        if self._start is not None:
            starter = Principal(self._user, Role.ADMIN, PrincipalKind.START)
            return Visit(facts, starter) if self._start.matches(value) else visit
        with lend() as store:
            return Visit(facts, self._find_principal(store, value))

    def start(self, visit: Visit, token: str, next_path: str = "/") -> Entry:
        """Exchange the token of the start link for a cookie; Unauthenticated if it is wrong."""
        if self._start is None:
            raise Forbidden("This server has logins and no start link. Log in.")
        cookie = make_cookie(self._session, self._start.exchange(token), self._is_secure(visit))
        return Entry((cookie,), safe_next(next_path))

    def log_in(self, store: Store, visit: Visit, name: str, password: str, next_path: str = "/") -> Entry:
        """Log in a local user; Throttled after failures, Unauthenticated if name or password is wrong."""
        if not self.settings.users:
            raise Forbidden("This server has no local users: users = true in [server] of dataflow.toml.")
        self._throttle.begin(name, visit.facts.address)
        session_id = start_user_session(store, name, password, self._times)
        self._throttle.forgive(name, visit.facts.address)
        return Entry((self._session_cookie(visit, session_id),), safe_next(next_path))

    def begin_login(self, visit: Visit, next_path: str = "/") -> Entry:
        """Send somebody to the identity provider."""
        from dataflow.access.provider import LOGIN_SECONDS

        location, pending = self._get_provider().begin(next_path)
        cookie = make_cookie(self._login, pending.text, self._is_secure(visit), LOGIN_SECONDS)
        return Entry((cookie,), location)

    def finish_login(self, store: Store, visit: Visit, query: Mapping[str, str]) -> Entry:
        """Log in whoever comes back from the identity provider; Unauthenticated or Forbidden if they may not.

        `query` holds the parameters of the request to CALLBACK_PATH.
        """
        from dataflow.access.provider import read_pending

        provider, login = self._get_provider(), self.settings.login
        assert login is not None
        secure = self._is_secure(visit)
        pending = read_pending(find_cookie(visit.facts.cookie, name_of(self._login, secure)))
        email = check_profile(provider.finish(pending, query), login)
        session_id = start_login_session(store, email, self._times)
        return Entry(
            (self._session_cookie(visit, session_id), drop_cookie(self._login, secure)), pending.next
        )

    def log_out(self, store: Store, visit: Visit) -> Entry:
        """End the session of a request, if it has one."""
        secure = self._is_secure(visit)
        session_id = find_cookie(visit.facts.cookie, self.cookie_name(visit))
        if session_id and self._start is None:
            end_session(store, session_id)
        return Entry((drop_cookie(self._session, secure),), "/")

    def _find_principal(self, store: Store, session_id: str) -> Principal | None:
        found = find_session(store, session_id, self._times)
        if found is None:
            return None
        name, role = found
        if role is not None:
            return Principal(name, role, PrincipalKind.USER) if self.settings.users else None
        given = find_role(name, self.settings)
        return None if given is None else Principal(name, given, PrincipalKind.LOGIN)

    def _open_provider(self, secret: str) -> Provider:
        from dataflow.access.provider import Provider  # start-up: only a server with a provider needs PyJWT

        assert self.settings.login is not None
        return Provider(self.settings.login, secret, base_url(self.settings) + CALLBACK_PATH)

    def _get_provider(self) -> Provider:
        if self._provider is None:
            raise Forbidden("This server has no identity provider: [server.login] in dataflow.toml.")
        return self._provider

    def _session_cookie(self, visit: Visit, session_id: str) -> Cookie:
        return make_cookie(self._session, session_id, self._is_secure(visit), self.settings.session_seconds)

    def _is_secure(self, visit: Visit) -> bool:
        return is_secure(self.settings, visit.facts)


def open_gate(
    settings: ServerSettings, user: str, environ: Mapping[str, str], get_passphrase: Callable[[], str]
) -> Gate:
    """Return the gate of a server with the secret of its identity provider.

    ConfigError if the settings are not safe or the secret is not set, SecretError if it cannot be decrypted.
    """
    login, secret = settings.login, ""
    if login is not None and login.secret_variable:
        secret = environ.get(login.secret_variable, "")
        if not secret:
            raise ConfigError(
                f"server.login: it reads its secret from {login.secret_variable}, which is not set."
            )
    elif login is not None:
        secret = decrypt(login.encryptedsecret, get_passphrase(), BOUND_TO_LOGIN)
    return Gate(settings, user, secret)


def is_secure(settings: ServerSettings, facts: RequestFacts) -> bool:
    """Return whether cookies are for https only."""
    return (settings.url or f"{facts.scheme}:").startswith("https:")


def base_url(settings: ServerSettings) -> str:
    """Return the URL of the server, without a slash at the end."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return settings.url or f"http://{host}:{settings.port}"
