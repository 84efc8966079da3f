"""The HTML report in a browser: filters, highlights, and replies that cannot do anything."""

import os
import shutil

import pytest

from plugin.tests.report.whole_run import changed_records, in_order, whole_run
from pytest_ocg.report.html.page import render_html

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
EXECUTABLE = os.environ.get("OCG_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)

pytestmark = pytest.mark.skipif(
    EXECUTABLE is None, reason=f"no browser: none of {', '.join(NAMES)} is installed, and OCG_BROWSER names none"
)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as running:
        # Chromium does not start with its sandbox as root in a container.
        found = running.chromium.launch(executable_path=EXECUTABLE, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def show(browser, tmp_path):
    """Opens the report on a run; any console message, error, request or dialog fails the test."""
    opened, noise = [], []

    def show(*run, earlier=(), **context):
        path = tmp_path / f"report{len(opened)}.html"
        path.write_text(render_html(*(run or whole_run(replies)), earlier), encoding="utf-8")
        opened.append(browser.new_context(**context))
        page = opened[-1].new_page()
        page.on("console", lambda message: noise.append(message.text))
        page.on("pageerror", lambda error: noise.append(str(error)))
        page.on("dialog", lambda dialog: noise.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: noise.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        return page

    yield show
    for context in opened:
        context.close()
    assert noise == []


def replies(asked, number):
    """In turn a hit, a miss with a missing word, a miss in the wrong order, and no reply."""
    choices = (in_order(asked, number), "A dog in the park, running.", " ".join(reversed(asked)), None)
    return choices[number % 4]


def items(page):
    return page.locator("#list > li")


def found(page, text):
    page.get_by_text(text, exact=True).wait_for()
    return items(page)


def test_every_reply_is_there_and_they_are_counted(show):
    assert found(show(), "24 of 24 cases").count() == 24


def test_outcome_pattern_and_template_filter(show):
    page = show(*whole_run(replies, templates=(0, 3)))
    page.locator("#filters").get_by_label("Outcome").select_option("error")
    assert found(page, "12 of 48 cases").first.text_content().startswith("errorgemma2-9b ordered")
    page.locator("#filters").get_by_label("Template").select_option("3")
    found(page, "6 of 48 cases")
    page.locator("#filters").get_by_label("Pattern").select_option("VVNN")
    of_pattern = found(page, "1 of 48 cases")
    assert "VVNN" in of_pattern.text_content()
    page.get_by_role("button", name="Clear").click()
    assert found(page, "48 of 48 cases").count() == 48


def test_the_model_filter_selects_one_of_several_models(show):
    page = show(*whole_run(replies, models=("one", "two")))
    page.locator("#filters").get_by_label("Model").select_option("two ordered")
    assert "two ordered" in found(page, "24 of 48 cases").first.text_content()


def test_search_finds_words_of_replies_and_concepts_in_the_order_asked_for(show):
    page = show()
    page.locator("#filters").get_by_label("Search").fill("IN THE PARK")
    found(page, "6 of 24 cases")
    page.locator("#filters").get_by_label("Search").fill("walk run park dog")
    page.get_by_text("1 of 24 cases").or_(page.get_by_text("2 of 24 cases")).wait_for()
    page.locator("#filters").get_by_label("Search").fill("no such words")
    assert found(page, "0 of 24 cases").count() == 0


def test_concepts_are_marked_in_the_reply_by_their_place_in_the_order_asked_for(show):
    first = found(show(), "24 of 24 cases").nth(0)
    assert first.locator("mark").all_text_contents() == ["1dog", "2park", "3run", "4walk"]
    assert first.locator(".absent").count() == 0


def test_the_whole_word_is_marked_and_missing_concepts_are_named(show):
    second = found(show(), "24 of 24 cases").nth(1)
    assert second.locator("mark").all_text_contents() == ["1dog", "2park", "4running"]
    assert second.locator(".absent").all_text_contents() == ["3walk missing"]


def test_where_the_order_breaks_is_named(show):
    third = found(show(), "24 of 24 cases").nth(2)
    assert [text for text in third.locator(".asked > span").all_text_contents() if "breaks" in text] == [
        "2run, order breaks here"
    ]


def test_a_case_without_a_reply_shows_its_error(show):
    fourth = found(show(), "24 of 24 cases").nth(3)
    assert fourth.locator(".reply").text_content() == "no reply: timeout: no answer in 60 s"


def test_a_long_list_grows_when_its_end_is_reached(show):
    page = show(*whole_run(sets=5))
    assert found(page, "120 of 120 cases").count() == 50
    page.get_by_role("button", name="Show more").scroll_into_view_if_needed()
    page.locator("#list > li:nth-child(100)").wait_for()
    page.get_by_role("button", name="Show more").press("Enter")
    page.locator("#list > li:nth-child(120)").wait_for()
    assert page.get_by_role("button", name="Show more").count() == 0


HOSTILE = {
    "<img src=x onerror=alert(1)><script>alert(1)</script>": "<img src=x onerror=alert(1)><script>alert(1)</script>",
    "</script><script>document.title='no'</script><!--": "</script><script>document.title='no'</script><!--",
    "a\x00b\x1b[31m\u202egnp\u2066\ud800c\u2028": "aU+0000bU+001B[31mU+202EgnpU+2066U+D800cU+2028",
    "dog \U0001f468\u200d\U0001f469 \U0001f415": "1dog \U0001f468\u200d\U0001f469 \U0001f415",
}


@pytest.mark.parametrize(("reply", "shown"), HOSTILE.items(), ids=range(len(HOSTILE)))
def test_a_hostile_reply_is_shown_as_text(show, reply, shown):
    page = show(*whole_run(lambda *_: reply))
    assert found(page, "24 of 24 cases").first.locator(".reply").text_content() == shown
    assert page.title() == "Ordered CommonGen: gemma2-9b"
    assert page.locator("#list img, #list script").count() == 0


def test_a_hostile_name_of_a_model_or_pattern_is_text_in_the_filters_too(show):
    results, records = whole_run()
    page = show(results, changed_records(records, model="\u202e<b>evil", pattern="<i>\x00"))
    assert page.locator("#filters").get_by_label("Model").locator("option").all_text_contents() == [
        "all",
        "U+202E<b>evil ordered",
    ]
    assert page.locator("#filters").get_by_label("Pattern").locator("option").all_text_contents() == [
        "all",
        "<i>U+0000",
    ]


def test_without_scripts_everything_except_the_replies_is_shown(show):
    page = show(java_script_enabled=False)
    assert page.get_by_text("The replies are also in generations.jsonl").is_visible()
    assert page.get_by_role("button", name="Clear").count() == 0
    assert page.locator("svg").first.is_visible()


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_the_page_never_scrolls_sideways(show, width):
    before, _ = whole_run(started="2026-11-29T10:00:00+00:00")
    page = show(
        *whole_run(replies, models=("gemma2-9b", "a-model-with-a-very-long-name" * 4), templates=(0, 1)),
        earlier=[before], viewport={"width": width, "height": 800},
    )  # fmt: skip
    for details in page.locator("details").all():
        details.evaluate("one => one.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


CONTRAST = """() => {
  const luminance = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = luminance(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll("p, td, th, small, a, summary, svg text, svg path, svg use")].flatMap((one) => {
    const style = getComputedStyle(one);
    const colour = one.closest("svg") ? (style.fill === "none" ? style.stroke : style.fill) : style.color;
    if (one.closest("defs") || one.getAttribute("stroke") === "var(--line)") return [];
    if (style.opacity !== "1" || style.fillOpacity !== "1") return [];
    const [low, high] = [luminance(colour), paper].sort((a, b) => a - b);
    return [[(high + 0.05) / (low + 0.05), one.localName, one.textContent.slice(0, 20), colour]];
  }).filter(([ratio, tag]) => ratio < (tag === "path" || tag === "use" ? 3 : 4.5));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_marks_stand_out_in_light_and_dark(show, scheme):
    page = show(color_scheme=scheme)
    assert page.evaluate(CONTRAST) == []
    is_dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    assert is_dark == (scheme == "dark")
