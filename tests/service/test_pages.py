"""Pages by HTTP: who may see and send what, forms of other sites, and texts that are all in one catalogue."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from running import Running, Visitor, released_in

from hushtable.service import Audience, Role
from hushtable.service.demonstration import ACCOUNTS
from hushtable.service.web.pages import PAGES, PageTexts

HERE = Path(__file__).resolve().parents[2] / "src" / "hushtable" / "service" / "web" / "pages"
TEMPLATES = sorted((HERE / "templates").glob("*.j2"))
NAMES = {role: name for name, role in reversed(ACCOUNTS.items())}


@pytest.fixture(scope="module")
def people(demo: Running) -> dict[Role, Visitor]:
    found = {role: demo.signed_in(name) for role, name in NAMES.items()}
    released_in(found[Role.READER])
    return found


def place(path: str, release: str) -> str:
    values = {"dataset": "town", "release": release, "page": "tables-9.html", "file": "style.css"}
    return re.sub(r"{(\w+)}", lambda found: values.get(found[1], "nothing"), path)


@pytest.mark.parametrize("name", list(PAGES))
def test_each_page_answers_each_role_as_the_table_says(name: str, people: dict[Role, Visitor]) -> None:
    route = PAGES[name]
    if name in ("sign_out_form", "sign_in_form"):
        pytest.skip("ends or begins the sign-in that the others need")
    release = released_in(people[Role.READER])
    for role, visitor in people.items():
        answer = visitor.http.request(route.method, place(route.path, release))
        assert answer.status_code < 500
        denied = answer.status_code == 403 and "Your role does not allow this." in answer.text
        if route.audience is Audience.MEMBERS:
            assert denied == (role not in route.reach), (name, role)
        elif route.audience is Audience.FOUNDERS:
            assert denied == (role is not Role.CURATOR)
        else:
            assert not denied
    stranger = Visitor(str(people[Role.READER].http.base_url))
    answer = stranger.http.request(route.method, place(route.path, release))
    if route.audience is not Audience.EVERYBODY:
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")


@pytest.mark.parametrize("name", [name for name, route in PAGES.items() if route.method == "POST"])
def test_a_form_of_another_site_does_nothing(name: str, people: dict[Role, Visitor]) -> None:
    clara = people[Role.CURATOR]
    path = place(PAGES[name].path, released_in(clara))
    headers = {"sec-fetch-site": "cross-site"}
    assert clara.http.post(path, headers=headers).status_code == 403
    if PAGES[name].audience is not Audience.EVERYBODY:
        assert clara.http.post(path, headers={"x-csrf-token": "guessed"}).status_code == 403


def test_a_dataset_that_one_may_not_see_is_like_none(people: dict[Role, Visitor]) -> None:
    rosa = people[Role.READER].http
    absent, hidden = rosa.get("/datasets/nothing"), rosa.get("/datasets/made")
    assert absent.status_code == hidden.status_code == 404
    assert absent.text == hidden.text


def test_a_sign_in_leads_to_our_own_front_alone(demo: Running) -> None:
    visitor = Visitor(demo.url)
    form = {"name": "anna", "password": demo.password, "next": "https://example.org/"}
    answer = visitor.http.post("/sign-in?next=//example.org", data=form)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    wrong = visitor.http.post("/sign-in", data={"name": "<b>", "password": "no"})
    assert wrong.status_code == 401 and "<b>" not in wrong.text


def test_texts_are_in_the_catalogue_and_nowhere_else() -> None:
    words = PageTexts("en")
    used: set[str] = set()
    for file in TEMPLATES:
        text = file.read_text()
        used |= set(re.findall(r't\("([a-z_.0-9]+)"', text))
        for prefix in re.findall(r't\("([a-z_.0-9]+)" ~', text):
            used |= {key for key in words.keys if key.startswith(prefix)}
        bare = re.sub(r"{%.*?%}|{{.*?}}|{#.*?#}|<[^>]*>", "", re.sub(r"(?s)<script.*?</script>", "", text))
        assert not re.findall(r"[A-Za-z]*[a-z]{4,}", bare), file.name
    assert {key for key in used if not key.endswith((".", "_"))} <= words.keys
    assert words.keys - used == set(), "texts that no page shows"


def test_a_language_may_lack_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "words"
    folder.mkdir()
    for file in (HERE / "words").glob("*.toml"):
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "de.toml").write_text('skip = "Zum Inhalt"\n[tab]\ncheck = "Eine Zahl prüfen"\n')
    monkeypatch.setattr("hushtable.service.web.pages.page_texts.FOLDER", folder)
    german = PageTexts("de")
    assert german("tab.check") == "Eine Zahl prüfen"
    assert german("tab.budget") == tomllib.loads((folder / "en.toml").read_text())["tab"]["budget"]
