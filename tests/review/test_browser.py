"""The review page in a real Chromium: every action by mouse and keyboard, undo after each, crashes and strangers."""

import os
import shutil
import signal
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from c3clust import data, methods
from c3clust.runs import Run

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served(fitted, tmp_path_factory, review):
    """One server for all tests; each leaves the clusters as they were."""
    run = Path(shutil.copytree(fitted, tmp_path_factory.mktemp("served") / "digits"))
    with review(run) as (_, url):
        yield run, url


@pytest.fixture
def page(served, visit, clusters_of):
    run, url = served
    before = clusters_of(run)
    page = visit(url)
    page.wait_for_function("async () => (await (await fetch('api/state')).json()).ready")
    yield page
    while page.locator("#undo").is_enabled():
        undo(page)
    assert clusters_of(run) == before


def undo(page):
    page.keyboard.press("Escape")
    steps = page.locator("#undo").inner_text()
    page.keyboard.press("Control+z")
    page.wait_for_function("(text) => document.getElementById('undo').textContent !== text", arg=steps)


def tiles(page):
    return page.locator("#grid .tile")


def position(page, n):
    return int(tiles(page).nth(n).get_attribute("data-i"))


def said(page, text):
    page.locator("#status", has_text=text).wait_for()


def fill(page, text):
    """Answer the dialog that is open."""
    page.locator("dialog input").fill(text)
    page.keyboard.press("Enter")


def other(page):
    """The number of the last cluster of the list."""
    return int(page.locator("#clusters .go").last.get_attribute("data-cluster"))


def test_a_picture_is_dragged_to_a_cluster(page, served, clusters_of):
    moved, to = position(page, 2), other(page)
    tiles(page).nth(2).drag_to(page.locator(f"#clusters [data-cluster='{to}']"))
    said(page, "1 picture moved")
    assert clusters_of(served[0])[moved] == to
    undo(page)
    said(page, "Undone")


def test_pictures_are_moved_by_typing_a_name_with_the_keyboard_alone(page, served, clusters_of):
    to = other(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    assert page.locator("#chosen strong").inner_text() == "3 pictures chosen"
    moved = [position(page, i) for i in range(3)]
    page.keyboard.press("m")
    fill(page, f"cluster {to}")
    said(page, "3 pictures moved")
    assert {clusters_of(served[0])[i] for i in moved} == {to}
    page.get_by_role("button", name="that moved").click()
    assert {*moved} <= {position(page, i) for i in range(tiles(page).count())}


def test_a_new_name_makes_a_new_cluster(page, served, clusters_of):
    first = position(page, 0)
    tiles(page).nth(0).click()
    page.keyboard.press("n")
    fill(page, "zeros")
    said(page, "new cluster zeros")
    page.locator("#clusters .go", has_text="zeros").wait_for()
    assert clusters_of(served[0])[first] == 10


def test_belongs_nowhere_and_confirm(page, served, clusters_of):
    first = position(page, 0)
    tiles(page).nth(0).click()
    page.keyboard.press("x")
    said(page, "belongs nowhere")
    assert clusters_of(served[0])[first] == -1
    tiles(page).nth(1).click()
    page.get_by_role("button", name="These are right").click()
    said(page, "confirmed")
    assert page.locator(".mark").first.is_visible()
    assert page.locator("#undo").inner_text() == "Undo (2)"


def test_name_merge_split_and_regroup(page, served, clusters_of):
    head, to = page.locator(".head").first, other(page)
    head.get_by_role("button", name="Name").click()
    fill(page, "the first")
    said(page, "Named the first")
    page.locator(".head", has_text="the first").get_by_role("button", name="Merge").click()
    fill(page, f"cluster {to}")
    said(page, "are one cluster")
    assert to not in clusters_of(served[0])
    page.locator(".head").nth(1).get_by_role("button", name="Split").click()
    fill(page, "2")
    said(page, "was split into 2")
    assert 10 in clusters_of(served[0])
    page.locator("#regroup").click()
    fill(page, "3")
    said(page, "Regrouped into 3 clusters")
    assert set(clusters_of(served[0])) == {0, 1, 2}
    assert page.locator("#undo").inner_text() == "Undo (4)"


def test_selecting_by_range_box_group_and_likeness(page):
    tiles(page).nth(1).click()
    tiles(page).nth(4).click(modifiers=["Shift"])
    assert page.locator("#chosen strong").inner_text() == "4 pictures chosen"
    page.keyboard.press("a")
    said(page, "like this")
    assert int(page.locator("#chosen strong").inner_text().split()[0]) > 4
    page.keyboard.press("Escape")
    assert page.locator("#chosen").is_hidden()
    one, two = tiles(page).nth(0).bounding_box(), tiles(page).nth(2).bounding_box()
    page.mouse.move(one["x"] - 3, one["y"] - 3)
    page.mouse.down()
    page.mouse.move(two["x"] + 20, two["y"] + 20, steps=4)
    page.mouse.up()
    assert page.locator("#chosen strong").inner_text() == "3 pictures chosen"
    page.keyboard.press("Control+a")
    size = page.locator("#clusters .go small").first.inner_text()
    assert page.locator("#chosen strong").inner_text().startswith(size)


def test_the_original_with_neighbours_search_and_order(page):
    tiles(page).nth(0).dblclick()
    assert page.locator("dialog img.whole").evaluate("(img) => img.decode().then(() => img.naturalWidth)") == 8
    assert page.locator("dialog .few .tile").count() == 8
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type(page.evaluate("document.querySelector('#grid .tile').title"))
    page.locator(".filter").wait_for()
    page.keyboard.press("Escape")
    before = position(page, 0)
    page.locator("#sort").select_option("doubt")
    assert position(page, 0) != before


def skip_to(page, title):
    """Skip questions until one with this title."""
    for _ in range(30):
        page.locator("#panel .answers").wait_for()
        shown = page.locator("#panel").inner_html()
        if page.locator("#panel h2").inner_text() == title:
            return
        page.keyboard.press("s")
        page.wait_for_function("(html) => document.getElementById('panel').innerHTML !== html", arg=shown)
    pytest.fail(f"{title} was not asked")


def test_questions_are_answered_with_one_key_each(page, served, clusters_of):
    page.keyboard.press("h")
    skip_to(page, "Is this one cluster?")
    assert page.locator("#panel .tile").count() == 16
    page.keyboard.press("n")
    page.locator("#panel #last", has_text="oved").wait_for()
    skip_to(page, "Where does this one belong?")
    asked = int(page.locator("#panel .one .tile").get_attribute("data-i"))
    page.keyboard.press("x")
    page.locator("#undo", has_text="Undo (2)").wait_for()
    assert clusters_of(served[0])[asked] == -1
    before = page.locator("#panel").inner_html()
    page.locator("#panel .answers").wait_for()
    page.keyboard.press("s")
    page.wait_for_function("(html) => document.getElementById('panel').innerHTML !== html", arg=before)
    assert page.locator("#undo").inner_text() == "Undo (2)"


def test_thirty_checks_replace_the_estimate(page):
    page.keyboard.press("k")
    page.keyboard.press("b")
    for k in range(30):
        page.locator("#panel h2", has_text=f"Check {k + 1} of 30").wait_for()
        page.keyboard.press("w" if k == 5 else "r")
    page.locator("#panel", has_text="would halve the interval").wait_for()
    assert "Checked by you: 83 to 100 in 100" in page.locator("#quality").inner_text()


def test_only_what_is_visible_is_in_the_page(page):
    page.get_by_role("button", name="Show all").first.click()
    assert 0 < tiles(page).count() < 200
    page.locator("#grid").evaluate("(node) => { node.scrollTop = node.scrollHeight; }")
    page.wait_for_timeout(100)
    assert 0 < tiles(page).count() < 200


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off_at_375_pixels(served, visit, scheme):
    page = visit(served[1], width=375, color_scheme=scheme)
    tiles(page).nth(0).click()
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    assert page.locator("#chosen").bounding_box()["width"] <= 375
    assert page.get_by_role("button", name="Move…").is_visible()


def test_two_tabs_see_each_other_and_refuse_what_is_stale(page, served, visit, clusters_of):
    second = visit(served[1], context=page.context)
    second.evaluate("window.setInterval = () => {}")
    second.route("**/api/state*", lambda route: route.abort())  # it does not learn of the other tab
    tiles(page).nth(0).click()
    page.keyboard.press("x")
    said(page, "belongs nowhere")
    now = clusters_of(served[0])
    tiles(second).nth(1).click()
    second.keyboard.press("x")
    said(second, "changed in another window")
    assert clusters_of(served[0]) == now
    second.keyboard.press("x")
    said(second, "belongs nowhere")
    page.locator("#undo", has_text="Undo (2)").wait_for()  # the first tab asks now and then


def test_a_page_without_the_token_and_one_of_another_origin(served, visit, page, tmp_path):
    parts = urlsplit(served[1])
    stranger = visit(f"{parts.scheme}://{parts.netloc}/", ready=False)
    assert "Open the address" in stranger.content()
    (tmp_path / "evil.html").write_text("<p>evil</p>", encoding="utf-8")
    evil = visit((tmp_path / "evil.html").as_uri(), ready=False)
    send = """async (url) => {
      const body = JSON.stringify({action: "merge", clusters: [0, 1], version: 1}), out = [];
      for (const type of ["application/json", "text/plain"])
        for (const mode of ["cors", "no-cors"])
          out.push(await fetch(url + "api/do", {method: "POST", mode, headers: {"Content-Type": type}, body})
            .then((answer) => answer.type, () => "refused"));
      out.push(await fetch(url + "api/state").then(() => "read", () => "refused"));
      return out;
    }"""
    assert set(evil.evaluate(send, served[1])) <= {"refused", "opaque"}
    assert page.locator("#undo").is_disabled()


def test_a_killed_server_loses_nothing(fitted, tmp_path, review, visit, clusters_of):
    run = Path(shutil.copytree(fitted, tmp_path / "digits"))
    with review(run) as (process, url):
        page = visit(url)
        first, second = position(page, 0), position(page, 1)
        tiles(page).nth(0).click()
        page.keyboard.press("x")
        said(page, "belongs nowhere")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        tiles(page).nth(0).click()
        page.keyboard.press("x")
        said(page, "does not answer")
    assert clusters_of(run)[first] == -1
    assert clusters_of(run)[second] != -1
    with review(run) as (process, url):
        page = visit(url)
        assert page.locator("#undo").inner_text() == "Undo (1)"
        undo(page)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert clusters_of(run) == clusters_of(fitted)
    assert not (run / "lock").exists()


@pytest.mark.parametrize("n", [3_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_many_samples_are_scrolled_chosen_moved_and_undone(tmp_path, review, visit, clusters_of, n):
    x = np.random.default_rng(0).integers(0, 40, (n, 4, 4)) + (np.arange(n) % 3 * 80)[:, None, None]
    np.save(tmp_path / "x.npy", x.astype(np.uint8))
    run = Run(tmp_path / "many", source=str(tmp_path / "x.npy"))
    methods.load("kmeans")(n_clusters=3, random_state=0).fit(data.load(tmp_path / "x.npy"), run_dir=run)
    before = clusters_of(tmp_path / "many")
    with review(tmp_path / "many") as (_, url):
        page = visit(url)
        page.wait_for_function("async () => (await (await fetch('api/state')).json()).ready")
        page.get_by_role("button", name="Show all").first.click()
        for share in (0.2, 0.9, 0.3):
            page.locator("#grid").evaluate("(node, share) => { node.scrollTop = share * node.scrollHeight; }", share)
            page.wait_for_function("() => document.querySelector('#grid .tile')")
            page.wait_for_timeout(100)
            assert 0 < tiles(page).count() < 300
        tile = page.locator("#grid .tile >> visible=true").nth(80)
        moved = int(tile.get_attribute("data-i"))
        tile.click()
        page.keyboard.press("x")
        said(page, "belongs nowhere")
        assert clusters_of(tmp_path / "many")[moved] == -1
        undo(page)
        page.keyboard.press("/")
        page.keyboard.type(f"{n - 1}")
        page.locator(".filter").wait_for()
        assert position(page, 0) == n - 1
        page.keyboard.press("Escape")
        page.keyboard.press("Control+a")
        page.keyboard.press("c")
        said(page, "confirmed")
        undo(page)
        assert clusters_of(tmp_path / "many") == before
