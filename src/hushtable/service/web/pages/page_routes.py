"""Who may see which page and send which form: a table like that of the routes under ``/v1``, with the same guard.

A page reaches as far as the route whose verb it uses; what is not listed is denied.
"""

from __future__ import annotations

from collections.abc import Mapping

from hushtable.service.roles import ROUTES, Audience, Reach, Role, Route, Scope

_D = "/datasets/{dataset}"
_RELEASE = _D + "/releases/{release}"
_CHOICE = _D + "/choices/{choice}"


def _open(name: str, method: str, path: str, summary: str) -> Route:
    return Route(name, method, path, summary, audience=Audience.EVERYBODY)


def _own(name: str, method: str, path: str, summary: str, scope: Scope = Scope.READ) -> Route:
    return Route(name, method, path, summary, scope, Audience.PEOPLE)


def _founding(name: str, method: str, path: str, summary: str) -> Route:
    return Route(name, method, path, summary, Scope.MANAGE, Audience.FOUNDERS)


def _like(verb: str, name: str, method: str, path: str, summary: str) -> Route:
    """A page of a dataset that uses a verb of ``/v1``."""
    route = ROUTES[verb]
    return Route(name, method, path, summary, route.scope, Audience.MEMBERS, route.reach)


_MEMBERS: Mapping[Role, Reach] = ROUTES["dataset"].reach

PAGES: Mapping[str, Route] = {
    route.name: route
    for route in (
        _open("home", "GET", "/", "The datasets that one has a role in"),
        _open("sign_in_page", "GET", "/sign-in", "Sign in"),
        _open("sign_in_form", "POST", "/sign-in", "Sign in by password"),
        _open("asset", "GET", "/assets/{file}", "Styles and scripts"),
        _own("sign_out_form", "POST", "/sign-out", "End the sign-in"),
        _own("account_page", "GET", "/account", "One's own tokens"),
        _own("token_form", "POST", "/account/tokens", "A new token, shown once", Scope.MANAGE),
        _own("revoke_form", "POST", "/account/tokens/{token}/revoke", "End a token", Scope.MANAGE),
        _founding("new_dataset_page", "GET", "/new", "A new dataset"),
        _founding("new_dataset_review", "POST", "/new/schema", "What a schema makes public, and its marks"),
        _founding("new_dataset_form", "POST", "/new", "Declare a dataset"),
        _like("releases", "explore_page", "GET", _D, "Every release that one may see"),
        _like("release_show", "release_page", "GET", _RELEASE, "The explorer over a release"),
        _like(
            "release_show", "bundle_file", "GET", _RELEASE + "/bundle", "The release itself, as an archive"
        ),
        _like("release_show", "tables_page", "GET", _RELEASE + "/pages/{page}", "More tables of a release"),
        _like("publish", "publish_form", "POST", _RELEASE + "/publish", "Publish a release"),
        _like("release", "new_release_page", "GET", _D + "/release", "Plan a release"),
        _like("plan", "new_release_plan", "POST", _D + "/release/plan", "Price and errors of a release"),
        _like("release", "new_release_form", "POST", _D + "/release", "Hand a release in"),
        _like("check", "check_page", "GET", _D + "/check", "Check a number"),
        _like("plan_check", "check_plan", "POST", _D + "/check/plan", "Price and errors of a check"),
        _like("check", "check_form", "POST", _D + "/check", "Hand a check in"),
        _like("check", "check_history", "GET", _D + "/check/history", "What one has checked"),
        _like("upload", "upload_form", "POST", _D + "/check/upload/synthetic", "Upload a synthetic file"),
        _like("choose", "choose_page", "GET", _D + "/choose", "Choose an analysis"),
        _like("choose", "choose_form", "POST", _D + "/choose", "Hand a choice in"),
        _like("choice_show", "choice_page", "GET", _CHOICE, "How a choice stands"),
        _like("finish", "step_form", "POST", _CHOICE + "/{step}", "Take an option, or none"),
        _like("remaining", "left_part", "GET", _D + "/left", "What one may still spend"),
        Route("budget_page", "GET", _D + "/budget", "What is left, and what spends bought", reach=_MEMBERS),
        _like("ledger_verify", "verify_part", "GET", _D + "/budget/verify", "Verify the ledger"),
        _like(
            "ledger_proof",
            "proof_file",
            "GET",
            _D + "/budget/proof",
            "A proof that an entry is in the chain, with the notes why it is private",
        ),
        _like("grant", "grant_form", "POST", _D + "/budget/grant", "Let a member spend"),
        _like("raise_budget", "raise_form", "POST", _D + "/budget/raise", "Raise the budget"),
        _like("member_set", "member_form", "POST", _D + "/budget/members", "Give a role, or none"),
        _like(
            "approve", "proposal_form", "POST", _D + "/budget/proposals/{proposal}/{answer}", "Agree, or not"
        ),
        _like("schema_change", "schema_page", "GET", _D + "/schema", "The schema, with its marks"),
        _like(
            "schema_change",
            "schema_review",
            "POST",
            _D + "/schema/review",
            "What a changed schema makes public",
        ),
        _like("schema_change", "schema_form", "POST", _D + "/schema", "Declare a changed schema"),
        _like("job", "job_part", "GET", _D + "/jobs/{job}", "How a job stands"),
        _like("job_cancel", "cancel_form", "POST", _D + "/jobs/{job}/cancel", "Cancel before the charge"),
    )
}
"""Every page and form, in the order of the documentation."""


def table_of_pages() -> str:
    """The table for the documentation, in Markdown."""
    lines = ["| page | what it is for | " + " | ".join(Role) + " |", "|---|---|" + "---|" * len(Role)]
    for route in PAGES.values():
        if route.audience is Audience.MEMBERS:
            cells = [str(route.reach.get(role, "-")) for role in Role]
        else:
            cells = [str(route.audience)] * len(Role)
        lines.append(f"| `{route.method} {route.path}` | {route.summary} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
