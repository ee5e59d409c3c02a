"""Which people of the identity provider may come in, and with which role; decided from the settings."""

from __future__ import annotations

from dataflow.errors import Forbidden
from dataflow.model.principal import Role
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.access.provider import Profile
    from dataflow.config.login import LoginSettings
    from dataflow.config.server import ServerSettings


def check_profile(profile: Profile, login: LoginSettings) -> str:
    """Return the e-mail address of somebody who may come in, in small letters; Forbidden for others.

    An OpenID provider must say that it has verified the address: with many of them, anybody can claim any. A
    profile endpoint often says nothing; whoever configured it vouches for it.
    """
    email = profile.email.strip().lower()
    if not _is_allowed(email, login):
        raise Forbidden(
            f"{quoted(email)} may not log in: its domain is not among those of this server "
            f"({', '.join(login.allowed_domains)}). Log in with another account."
        )
    is_assumed = profile.verified is None and (login.assume_verified or not login.issuer)
    if not profile.verified and not is_assumed:
        raise Forbidden(
            f"{quoted(email)} may not log in: the identity provider has not verified this address. "
            "Verify it there, then log in again."
        )
    return email


def find_role(email: str, settings: ServerSettings) -> Role | None:
    """Return the role that the settings give to an address; None if it may not come in (any more)."""
    if settings.login is None or not _is_allowed(email, settings.login):
        return None
    if email in settings.admins:
        return Role.ADMIN
    return Role.OPERATOR if email in settings.operators else Role.VIEWER


def _is_allowed(email: str, login: LoginSettings) -> bool:
    name, _, domain = email.rpartition("@")
    is_address = bool(name) and "@" not in name and email.isprintable() and " " not in email
    return is_address and domain in login.allowed_domains
