"""Who may do what. Roles and bindings come later; until then every authenticated user may do everything."""

from typing import Final

from mockkube.api.errors import Forbidden, qualified
from mockkube.apiserver.http.authentication import ALL_UNAUTHENTICATED, User
from mockkube.apiserver.http.paths import Target

_PUBLIC: Final = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_PUBLIC_PREFIXES: Final = ("/healthz/", "/livez/", "/readyz/")


def authorize_path(user: User, method: str, path: str) -> None:
    """Refuse a path that names no resource."""
    if ALL_UNAUTHENTICATED not in user.groups or path in _PUBLIC or path.startswith(_PUBLIC_PREFIXES):
        return
    raise Forbidden(f'forbidden: User "{user.name}" cannot {method.lower()} path "{path}"', details={})


def authorize_resource(user: User, target: Target) -> None:
    """Refuse a request to a resource."""
    if ALL_UNAUTHENTICATED not in user.groups:
        return
    resource = f"{target.resource}/{target.subresource}" if target.subresource else target.resource
    where = f'in the namespace "{target.namespace}"' if target.namespace else "at the cluster scope"
    why = f'User "{user.name}" cannot {target.verb} resource "{resource}" in API group "{target.group}" {where}'
    details = {"name": target.name, "group": target.group, "kind": target.resource}
    title = qualified(target.group, target.resource)
    title = f'{title} "{target.name}"' if target.name else title
    raise Forbidden(f"{title} is forbidden: {why}", details={key: value for key, value in details.items() if value})
