"""Who acts and what they may do: roles, permissions, and the records of users and API tokens."""

from __future__ import annotations

from enum import StrEnum

from dataflow.errors import Forbidden
from dataflow.model.record import record


class Permission(StrEnum):
    """What a route or command needs."""

    PUBLIC = "public"  # nobody has to say who they are
    READ = "read"  # see everything except secrets
    OPERATE = "operate"  # change the state of data and work: ready, resubmit, hold, cancel, invalidate …
    ADMINISTER = "administer"  # users and API tokens


class Role(StrEnum):
    """What a principal is; each role may do all that the ones before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


PERMISSIONS: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: frozenset({Permission.PUBLIC, Permission.READ}),
    Role.OPERATOR: frozenset({Permission.PUBLIC, Permission.READ, Permission.OPERATE}),
    Role.ADMIN: frozenset(Permission),
}


class PrincipalKind(StrEnum):
    """How a principal proved who it is."""

    USER = "user"  # a local user, by password
    LOGIN = "login"  # a person, by the identity provider; the name is an e-mail address
    TOKEN = "token"  # a program, by an API token
    START = "start"  # whoever has the link that the server printed when it started


@record
class Principal:
    """Somebody who has proved who they are; `name` is unique within its kind."""

    name: str
    role: Role
    kind: PrincipalKind

    @property
    def actor(self) -> str:
        """The name in the journal."""
        return f"token:{self.name}" if self.kind is PrincipalKind.TOKEN else self.name

    def may(self, permission: Permission) -> bool:
        """Return whether the role includes a permission."""
        return permission in PERMISSIONS[self.role]

    def require(self, permission: Permission) -> None:
        """Raise Forbidden if the role does not include a permission."""
        if not self.may(permission):
            enough = next(role for role in Role if permission in PERMISSIONS[role])
            raise Forbidden(
                f"{self.actor} has the role {self.role}, and this needs the role {enough}. "
                "Ask an administrator of this server."
            )


@record
class UserRow:
    """A local user as `dataflow user list` shows it."""

    name: str
    role: Role
    created_at: str
    created_by: str
    password_at: str
    login_at: str | None


@record
class TokenRow:
    """An API token as `dataflow token list` shows it; the token itself is not kept."""

    name: str
    role: Role
    created_at: str
    created_by: str
    expires_at: str
    expired: bool
    used_at: str | None
