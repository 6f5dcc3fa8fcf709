"""Pages in a real browser: each journey of each role, at phone and desktop width, light and dark, read by axe."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from opened import WIDTHS
from persons import PATIENCE, SIZES, Sitting, sized
from running import Running

SOME = [("phone", "dark"), ("desktop", "light")]
HOSTILE = "</script><img src=x onerror=alert(1)>"


@sized(SOME[:1])
def test_a_reader_explores_what_is_published_and_nothing_else(
    device: str, scheme: str, sits: Sitting
) -> None:
    rosa = sits("rosa", device, scheme)
    rosa.looks("datasets")
    page = rosa.goes("/datasets/town")
    assert page.locator("nav a").all_inner_texts() == ["Explore", "Budget"]
    page.click(".cards h2 a")
    rosa.ready()
    page.select_option("#explorer-1-pick-0", label="age")
    page.wait_for_function("location.hash.startsWith('#table=age')")
    rosa.looks("release")
    rosa.goes("/datasets/town/budget")
    rosa.looks("budget")
    page.goto(f"{rosa.url}/datasets/town/check")
    assert "Your role does not allow this." in page.inner_text("main")
    page.goto(f"{rosa.url}/datasets/nothing")
    assert "There is no such dataset." in page.inner_text("main")


@sized(SOME)
def test_an_analyst_sees_the_price_first_then_asks_and_reads_the_verdict(
    device: str, scheme: str, sits: Sitting
) -> None:
    anna = sits("anna", device, scheme)
    page = anna.goes("/datasets/town/check")
    anna.looks("check-empty")
    before = page.inner_text(".left strong")
    page.select_option("#build-name", label="sex")
    page.click("#build-add")
    page.select_option("#build-name", label="age")
    page.fill("#build-value", "30" if device == "phone" else "40")
    page.click("#build-add")
    assert re.fullmatch(r"COUNT WHERE sex = 'F' AND age >= [34]0", page.input_value("#query"))
    page.wait_for_selector("#plan .chart svg")
    first = page.inner_text("#plan .tile-value >> nth=0")
    page.fill("#epsilon-slide", "-2")
    page.wait_for_function(
        "(text) => document.querySelector('#plan .tile-value').textContent !== text", arg=first
    )
    page.wait_for_selector("#plan .chart svg")
    assert page.input_value("#epsilon") == "0.01"
    page.fill("#tau", "10%")
    page.wait_for_selector("#plan .tile-note:has-text('close enough within')")
    page.wait_for_load_state("networkidle")
    tau = page.eval_on_selector(
        "#plan .chart .role-mark.mark-rule line", "one => getComputedStyle(one).stroke"
    )
    assert tau == page.eval_on_selector("main h1", "one => getComputedStyle(one).color"), (
        "seen in the dark too"
    )
    anna.looks("check-plan")
    page.fill("#query", "COUNT WHERE nothing = 1")
    page.wait_for_selector("#plan .refused")
    page.fill("#query", "COUNT WHERE sex = 'F'")
    page.fill(
        "#epsilon", f"0.0{2 + SIZES.index((device, scheme))}"
    )  # a question that was asked before is free
    page.wait_for_selector(f"#plan .tile-value:has-text('epsilon={page.input_value('#epsilon')}')")
    page.wait_for_selector("#plan .chart svg")
    assert page.inner_text(".left strong") == before, "nothing is spent yet"
    page.click("#plan button.main")
    page.wait_for_selector("#job:has-text('Handed in'), #answer .verdict")
    page.wait_for_selector("#answer .verdict", timeout=PATIENCE)
    said = page.inner_text("#answer .verdict")
    assert re.match(r"(Yes|No): the true COUNT WHERE sex = 'F' is( not)? within", said)
    page.wait_for_selector("#history .verdict")
    assert page.inner_text("#history .verdict >> nth=0") == said
    page.wait_for_function(
        "(text) => document.querySelector('.left strong').textContent !== text", arg=before
    )
    left = page.inner_text(".left strong")
    assert page.inner_text("#plan .tile-note strong") == left
    anna.looks("check-verdict")
    page.reload()
    anna.ready()
    assert page.inner_text(".left strong") == left and page.inner_text("#history .verdict >> nth=0") == said
    anna.goes("/datasets/town/budget")
    anna.looks("budget")
    assert "check" in page.inner_text("main table")
    named = "one => getComputedStyle(one, '::before').content"
    shown = page.eval_on_selector("main table td >> nth=0", named)
    assert shown == ('"What for: "' if device == "phone" else "none"), "a phone has no head above the columns"


@sized(SOME[1:])
def test_an_analyst_looks_at_what_is_common_and_takes_an_option(
    device: str, scheme: str, sits: Sitting
) -> None:
    amir = sits("amir", device, scheme)
    page = amir.goes("/datasets/town/choose")
    page.fill("#coarse", "district")
    page.fill("#fine", "district, education")
    page.fill("#budget", "rho=0.001")
    amir.looks("choose")
    page.click("button:has-text('Measure what they have in common')")
    page.click("#answer .good a", timeout=PATIENCE)
    amir.ready()
    assert page.locator("tbody tr:has-text('the table district x education')").count() == 1
    assert "Harbour" in page.inner_text("main")
    right = page.locator("button[aria-label='Take option 1']").bounding_box()
    assert right["x"] + right["width"] <= WIDTHS[device][0], "what decides is in sight"
    amir.looks("choice-open")
    page.click("button[aria-label='Take option 1']")
    page.wait_for_selector("#answer .good", timeout=PATIENCE)
    page.wait_for_selector(".tile-value:has-text('finished')")
    assert page.locator("button[aria-label='Take option 1']").count() == 0
    assert "finished" in page.inner_text(".tiles") and "Saved" in page.inner_text(".tiles")
    assert "until you decide" not in page.inner_text(".tiles")
    amir.looks("choice-taken")
    page.click("a.button.main")
    amir.ready()
    page.wait_for_selector("#explorer table")
    amir.goes("/datasets/town/choose")
    page.fill("#budget", "rho=0.0005")
    page.click("button:has-text('Measure what they have in common')")
    page.click("#answer .good a", timeout=PATIENCE)
    amir.ready()
    page.click("text=Take none")
    page.wait_for_selector("#answer .good:has-text('No option was taken')", timeout=PATIENCE)
    amir.goes("/datasets/town/choose")
    assert "abandoned" in page.inner_text("table")


@sized(SOME[1:])
def test_a_curator_grants_releases_publishes_and_declares(device: str, scheme: str, sits: Sitting) -> None:
    clara = sits("clara", device, scheme)
    page = clara.goes("/datasets/town/budget")
    page.select_option("#grant-person", "amir")
    page.fill("#grant-budget", "a little")
    page.click("button:has-text('Grant')")
    page.wait_for_selector(".said .refused:has-text('budget.')")
    page.fill("#grant-budget", "epsilon=3,delta=1e-9,pure=1")
    with page.expect_navigation():
        page.click("button:has-text('Grant')")
    clara.ready()
    assert "epsilon=3,delta=1e-9,pure=1" in page.inner_text("#grants >> xpath=..")
    clara.looks("budget-curator")
    page = clara.goes("/datasets/town/release")
    page.wait_for_selector("#plan .tiles")
    page.fill("#marginals", "sex, car")
    page.fill("#budget", "rho=0.002")
    page.wait_for_selector("#plan .tile-value:has-text('rho=0.002')")
    page.select_option("#strategy", "residual-planner")
    page.wait_for_selector("#plan details")
    clara.looks("release-plan")
    page.click("#plan button.main")
    page.click("#answer .good a", timeout=PATIENCE)
    clara.ready()
    page.wait_for_selector("#explorer table")
    assert "Not published" in page.inner_text("main")
    clara.looks("release-curator")
    with page.expect_navigation():
        page.click("button:has-text('Publish')")
    clara.ready()
    assert "Published: readers see it." in page.inner_text("main")
    page = clara.goes("/datasets/town/schema")
    page.wait_for_selector("#review table")
    birthplaces = page.locator("#review tr", has_text="birthplace").locator("td").nth(1).inner_text()
    assert int(birthplaces) == 41, "all categories are counted, though few are listed"
    clara.looks("schema")
    page = clara.goes("/new")
    page.fill("#name", f"made-{device}-{scheme}")
    page.fill(
        "#schema",
        f"attributes:\n  kind: {{type: categorical, values: [a, {HOSTILE!r}]}}\n"
        "learnt_from_data:\n  unreviewed: [attributes.kind.values]\n",
    )
    page.wait_for_selector(".marks button")
    clara.looks("schema-marks")
    page.click("text=Declare the dataset")
    page.wait_for_selector("#said .refused")
    page.click(".marks button")
    page.wait_for_selector("#review .verdict")
    assert "reviewed:" in page.input_value("#schema")
    page.fill("#budget", "rho=0.1")
    with page.expect_navigation():
        page.click("text=Declare the dataset")
    clara.ready()
    assert page.url.endswith("/budget")
    page = clara.goes(f"/datasets/made-{device}-{scheme}/schema")
    page.wait_for_selector(f"#review td:has-text({HOSTILE!r})")
    assert clara.complaints == [] and page.evaluate("document.querySelectorAll('main img').length") == 0
    clara.goes("/")
    assert "No worker has opened its data yet" in page.inner_text("main")


@sized(SOME[:1])
def test_an_auditor_verifies_and_takes_the_account_along(device: str, scheme: str, sits: Sitting) -> None:
    audrey = sits("audrey", device, scheme)
    page = audrey.goes("/datasets/town/budget")
    assert page.locator("form[hx-post]").count() == 0, "an auditor changes nothing"
    page.click("text=Verify now")
    page.wait_for_selector("#verified .yes")
    audrey.looks("budget-auditor")
    page.fill("#head", "0" * 64)
    page.click("text=Verify now")
    page.wait_for_selector("#verified .refused:has-text('published head is not in the chain')")
    for link in ("Ledger (JSON)", "Release 1 (ZIP)"):
        with page.expect_download() as saving:
            page.click(f"text={link}")
        assert Path(saving.value.path()).stat().st_size > 500
    audrey.leaves()


@sized(SOME[1:])
def test_a_token_is_shown_once_and_can_be_ended(device: str, scheme: str, sits: Sitting) -> None:
    anna = sits("anna", device, scheme)
    page = anna.goes("/account")
    page.fill("#label", "a <b>program</b>")
    page.click("text=Make a token")
    page.wait_for_selector("#tokens pre")
    assert page.inner_text("#tokens pre").startswith("hush_")
    anna.looks("account")
    with page.expect_navigation():
        page.click("button[aria-label='End the token a <b>program</b>']")
    anna.ready()
    assert (
        page.locator("text=hush_").count() == 0
        and page.locator("#tokens tr:has-text('program')").count() == 0
    )


def test_pages_are_not_framed_and_run_no_script_of_their_own(
    demo: Running, browser: Any, tmp_path: Path
) -> None:
    answer = demo.signed_in("anna").http.get("/datasets/town/check")
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert answer.headers["x-frame-options"] == "DENY"
    assert not re.search(
        r"<script(?![^>]*(src=|type=\"application/json\"))|\son[a-z]+=|\sstyle=|<style", answer.text
    )
    other = tmp_path / "frame.html"
    other.write_text(f"<iframe src='{demo.url}/sign-in'></iframe>")
    page = browser.new_page()
    page.goto(other.as_uri())
    page.wait_for_timeout(500)
    assert page.frames[-1].locator("#password").count() == 0
    page.close()


def test_the_first_page_is_there_at_once_and_keyboards_reach_everything(demo: Running, browser: Any) -> None:
    page = browser.new_page()
    begun = time.monotonic()
    page.goto(demo.url)
    page.wait_for_selector("#name")
    assert time.monotonic() - begun < 3
    page.keyboard.press("Tab")
    reached = set()
    for _ in range(8):
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        page.keyboard.press("Tab")
    assert {"password", "BUTTON"} <= reached
    page.close()
