"""Forward requests of the page to the API server of the process, as the user of the session."""

from typing import Final
from urllib.parse import quote

from multidict import CIMultiDict
from yarl import URL

from mockkube.apiserver.http import web
from mockkube.apiserver.http.connections import HttpHandler
from mockkube.apiserver.identity.user import ALL_AUTHENTICATED, User

USER_AGENT: Final = "mockkube-ui"
# Headers of a browser that mean something to the API; all others stay behind, above all cookies and credentials.
_FORWARDED: Final = ("Accept", "Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Host")


class ApiForwarder:
    """Passes requests to an API server; the administrator's token impersonates the user of the session.

    Impersonation is checked and recorded as for any client, so what a page does passes authorization, admission and
    faults like a request of kubectl.
    """

    def __init__(self, handler: HttpHandler, token: str) -> None:
        self._handler = handler
        self._token = token

    async def forward(self, request: web.BaseRequest, path: str, user: User) -> web.StreamResponse:
        """Return the response to the same request with another path."""
        headers = CIMultiDict((name, request.headers[name]) for name in _FORWARDED if name in request.headers)
        headers["User-Agent"] = USER_AGENT
        headers["Authorization"] = f"Bearer {self._token}"
        headers["Impersonate-User"] = user.name
        for group in user.groups:
            if group != ALL_AUTHENTICATED:
                headers.add("Impersonate-Group", group)
        if user.uid:
            headers["Impersonate-Uid"] = user.uid
        for key, values in user.extra.items():
            for value in values:
                headers.add(f"Impersonate-Extra-{quote(key, safe='')}", value)
        return await self._handler(request.clone(rel_url=URL(path, encoded=True), headers=headers))
