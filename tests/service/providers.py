"""A provider of OpenID Connect on loopback, made of authlib's own server classes: codes, PKCE and ID tokens are theirs.

What is ours: one public client, one person, the pages over ``wsgiref``, and claims that a test may spoil before the
provider signs them.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import parse_qsl
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from authlib.oauth2.rfc6749 import (
    AuthorizationCodeMixin,
    AuthorizationServer,
    ClientMixin,
    JsonRequest,
    OAuth2Request,
)
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import UserInfo
from authlib.oidc.core.grants import OpenIDCode
from joserfc import jwk

Answer = tuple[int, Any, list[tuple[str, str]]]
LOOPBACK = "AUTHLIB_INSECURE_TRANSPORT"
"""The variable by which authlib serves without TLS, as on loopback."""
FOUND = {
    200: "200 OK",
    302: "302 Found",
    400: "400 Bad Request",
    401: "401 Unauthorized",
    404: "404 Not Found",
}


class Asked(OAuth2Request):
    """A request as authlib wants to see it."""

    def __init__(self, environ: dict[str, Any]) -> None:
        query = dict(parse_qsl(environ.get("QUERY_STRING", "")))
        size = int(environ.get("CONTENT_LENGTH") or 0)
        form = dict(parse_qsl(environ["wsgi.input"].read(size).decode())) if size else {}
        uri = f"http://{environ['HTTP_HOST']}{environ['PATH_INFO']}?{environ.get('QUERY_STRING', '')}"
        headers = {"Authorization": environ["HTTP_AUTHORIZATION"]} if "HTTP_AUTHORIZATION" in environ else {}
        super().__init__(environ["REQUEST_METHOD"], uri, headers=headers)
        self._args, self._sent = query, form
        self.payload = BasicOAuth2Payload(query | form)

    @property
    def args(self) -> dict[str, str]:
        return self._args

    @property
    def form(self) -> dict[str, str]:
        return self._sent


@dataclass(frozen=True)
class PublicClient(ClientMixin):
    """One that has no secret, and proves by PKCE that it began the sign-in."""

    name: str

    def get_client_id(self) -> str:
        return self.name

    def get_default_redirect_uri(self) -> str:
        return ""

    def get_allowed_scope(self, scope: str | None) -> str:
        return " ".join(one for one in (scope or "").split() if one in ("openid", "profile"))

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri.endswith("/v1/sign-in/oidc/done")

    def check_client_secret(self, client_secret: str) -> bool:
        return False

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code"


@dataclass(frozen=True)
class Code(AuthorizationCodeMixin):
    """What a code stands for."""

    code: str
    redirect_uri: str
    scope: str
    nonce: str | None
    code_challenge: str | None
    code_challenge_method: str | None

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str | None:
        return self.nonce

    def get_auth_time(self) -> int:
        return int(time.time())

    def get_acr(self) -> None:
        return None

    def get_amr(self) -> None:
        return None


class CodeGrant(AuthorizationCodeGrant):
    """Codes that are kept by the server until they are used."""

    TOKEN_ENDPOINT_AUTH_METHODS = ("none",)

    def save_authorization_code(self, code: str, request: OAuth2Request) -> None:
        asked = request.payload.data
        self.server.codes[code] = Code(
            code,
            asked["redirect_uri"],
            request.scope,
            asked.get("nonce"),
            asked.get("code_challenge"),
            asked.get("code_challenge_method"),
        )

    def query_authorization_code(self, code: str, client: ClientMixin) -> Code | None:
        return self.server.codes.get(code)

    def delete_authorization_code(self, authorization_code: Code) -> None:
        self.server.codes.pop(authorization_code.code, None)

    def authenticate_user(self, authorization_code: Code) -> str:
        return "s-1"


class IdTokens(OpenIDCode):
    """ID tokens for codes."""

    def __init__(self, provider: Provider) -> None:
        super().__init__(require_nonce=True)
        self._provider = provider

    def exists_nonce(self, nonce: str, request: OAuth2Request) -> bool:
        return any(code.nonce == nonce for code in self._provider.codes.values())

    def resolve_client_private_key(self, client: ClientMixin) -> Any:
        return self._provider.signing

    def get_encode_header(self, client: ClientMixin) -> dict[str, str]:
        return {"alg": "RS256", "kid": "one"}

    def get_client_claims(self, client: ClientMixin) -> dict[str, Any]:
        return {"iss": self._provider.url, "aud": client.get_client_id()}

    def generate_user_info(self, user: str, scope: str) -> UserInfo:
        known = {"sub": user, "preferred_username": "olga", "hushtable": ["people:analyst"]}
        return UserInfo(known | self._provider.claims)


class Provider(AuthorizationServer):
    """A provider that runs; ``claims`` are put over what it would say, ``signing`` is the key that it signs with."""

    def __init__(self) -> None:
        super().__init__(scopes_supported=["openid", "profile"])
        os.environ[LOOPBACK] = "1"
        self.key = jwk.RSAKey.generate_key(2048, {"kid": "one"}, auto_kid=False)
        self.signing = self.key
        self.codes: dict[str, Code] = {}
        self.claims: dict[str, Any] = {}
        self.register_grant(CodeGrant, [CodeChallenge(required=True), IdTokens(self)])
        self.register_token_generator("default", self._token)
        self.http: WSGIServer = make_server("127.0.0.1", 0, self._answered, handler_class=Quiet)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Hang up."""
        self.http.shutdown()
        self.http.server_close()
        os.environ.pop(LOOPBACK, None)

    # What authlib asks of whoever serves it

    def query_client(self, client_id: str) -> PublicClient | None:
        return PublicClient(client_id) if client_id == "hush" else None

    def save_token(self, token: dict[str, Any], request: OAuth2Request) -> None:
        """Nobody asks for anything by an access token."""

    def send_signal(self, name: str, *args: Any, **more: Any) -> None:
        """Nobody listens."""

    def create_oauth2_request(self, request: Any) -> OAuth2Request:
        return request if isinstance(request, OAuth2Request) else Asked(request)

    def create_json_request(self, request: Any) -> JsonRequest:
        raise NotImplementedError

    def handle_response(self, status: int, body: Any, headers: list[tuple[str, str]]) -> Answer:
        return status, body, headers

    @staticmethod
    def _token(**asked: Any) -> dict[str, Any]:
        return {"token_type": "Bearer", "access_token": secrets.token_urlsafe(16), "scope": asked["scope"]}

    # Its pages

    def _answered(self, environ: dict[str, Any], start: Any) -> list[bytes]:
        ways = {
            "/.well-known/openid-configuration": self._described,
            "/keys": self._keys,
            "/authorize": self._authorize,
            "/token": self.create_token_response,
        }
        way = ways.get(environ["PATH_INFO"])
        status, body, headers = (404, "", []) if way is None else way(environ)
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        kind = [] if any(name.lower() == "content-type" for name, _ in headers) else [_kind(body)]
        start(FOUND[status], [*headers, *kind])
        return [content]

    def _described(self, environ: dict[str, Any]) -> Answer:
        places = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        return 200, {"issuer": self.url} | {name: f"{self.url}/{end}" for name, end in places.items()}, []

    def _keys(self, environ: dict[str, Any]) -> Answer:
        return 200, {"keys": [self.key.as_dict(private=False)]}, []

    def _authorize(self, environ: dict[str, Any]) -> Answer:
        """A page with a button, and what the button does."""
        request = Asked(environ)
        grant = self.get_consent_grant(request, end_user="s-1")
        if request.method == "POST":
            return self.create_authorization_response(request, grant_user="s-1", grant=grant)
        fields = "".join(
            f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
            for name, value in request.args.items()
        )
        form = f'<form method="post" action="/authorize">{fields}<button>Sign in as olga</button></form>'
        return 200, f'<!doctype html><title>Provider</title><link rel="icon" href="data:,">{form}', []


def _kind(body: Any) -> tuple[str, str]:
    return "content-type", "text/html; charset=utf-8" if isinstance(body, str) else "application/json"


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None: ...
