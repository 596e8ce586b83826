"""The page in a real browser. The fixture `visit` fails on any console message, dialog or request to a network."""

import io
import tarfile
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np
import pytest
from PIL import Image

from c3clust import KMeans, load, regroup, split, undo
from c3clust.records.assignments import Assignments
from c3clust.records.duplicates import Duplicates
from c3clust.records.outliers import Outlier
from c3clust.report import build, editing, render, write

pytestmark = pytest.mark.browser

PHOTOS = Path(__file__).parents[3] / "shared" / "data" / "photos-subset.tar"
HOSTILE = ["<script>alert(1)</script>.png", '"><img src=x onerror="alert(1)">', "javascript:alert(1)", "';alert(1)//"]


def written(folder, record, view):
    """The address of the page of a run."""
    write(folder, record, view)
    return (folder / "report.html").as_uri()


def pixels(locator) -> np.ndarray:
    """What an element looks like on the screen, in grey."""
    locator.scroll_into_view_if_needed()
    return np.asarray(Image.open(io.BytesIO(locator.screenshot())).convert("L")).astype(float)


def order(page) -> list[int]:
    return page.eval_on_selector_all("#gallery .cluster", "nodes => nodes.map((node) => Number(node.dataset.id))")


def point_at(page, i: int) -> None:
    """Move the mouse to a point of the map."""
    canvas = page.locator("#map canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    x, y = canvas.evaluate("(node, i) => node.pointAt(i)", i)
    page.mouse.move(box["x"] + x, box["y"] + y)


def test_the_summary_says_what_was_found(visit, made):
    page = visit(made.url)
    assert page.locator("h1").inner_text() == "600 images in 10 clusters"
    assert "80.0%\n70.0% after cc" in page.locator(".stats").inner_text()
    assert page.locator(".bars a").count() == 10
    assert "the method c3 gives" in page.locator(".headline").inner_text()
    assert "not calibrated" in page.locator(".stats").inner_text()
    assert "All well" not in page.locator("#summary").inner_text()
    assert page.title() == "600 images in 10 clusters"


def test_the_enlarged_image_leads_through_its_cluster(visit, made):
    page = visit(made.url)
    page.locator("#gallery .thumb").first.click()
    first = page.locator("dialog.one td").first.inner_text()
    assert "Next best" in page.locator("dialog.one").inner_text()
    page.locator("dialog.one button", has_text="Next").click()
    second = page.locator("dialog.one td").first.inner_text()
    assert page.locator("dialog.one").count() == 1
    page.keyboard.press("Enter")  # the button keeps the focus
    third = page.locator("dialog.one td").first.inner_text()
    assert len({first, second, third}) == 3
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.locator("dialog.one td").first.inner_text() == first
    page.keyboard.press("Escape")
    assert page.locator("dialog").count() == 0


LOOKS = [(1280, "light"), (1280, "dark"), (375, "light"), (375, "dark")]


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_the_top_says_how_many_are_probably_right(visit, guided, width, scheme):
    page = visit(guided.url, width, 812, color_scheme=scheme)
    headline = page.locator(".verdict .headline")
    assert headline.inner_text() == (
        "About 86 in 100 images are probably in the right cluster (77 to 95; estimated without labels)."
    )
    assert page.locator("#summary h1 + .verdict").count() == 1, "the verdict comes first"
    assert page.locator(".verdict").get_attribute("data-level") == "good"
    assert page.locator(".verdict .level").inner_text() == "All well"
    assert (
        "10 clusters were asked for and all were found. Nothing looks wrong." in page.locator(".verdict").inner_text()
    )
    scale, band, mark = (page.locator(f".estimate {part}").bounding_box() for part in (".scale", "i", "b"))
    at = [(x - scale["x"]) / scale["width"] for x in (band["x"], mark["x"] + 2, band["x"] + band["width"])]
    assert at == pytest.approx([0.77, 0.86, 0.95], abs=0.01)
    assert headline.bounding_box()["y"] + headline.bounding_box()["height"] < 400, "seen without scrolling"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert pixels(headline).std() > 20
    assert not {"zeta", "positives", "Mean confidence"} & set(page.locator("#summary").inner_text().split())


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_a_doubtful_result_says_so_first(visit, run, new_record, new_quality, made, width, scheme):
    quality = new_quality(0.7, 0.25, doubtful=True)
    record = new_record(quality=quality, stages=[], command="c3clust fit photos/ -k 10 -o runs/photos")
    page = visit(written(run, record, made.view), width, 812, color_scheme=scheme)
    assert page.locator(".verdict .level").inner_text() == "Look here"
    assert "Read the 2 points below" in page.locator(".verdict").inner_text()
    kinds = page.eval_on_selector_all(".findings li", "nodes => nodes.map((node) => node.dataset.kind)")
    assert kinds == ["inaccurate", "doubtful", "uneven"]
    command = page.locator("[data-kind=doubtful] code").inner_text()
    assert command.startswith("c3clust fit photos/ -k 10 --method kmeans -o ")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert "All well" not in page.locator("main").inner_text()


def test_a_stage_without_curves_leaves_no_empty_charts(visit, guided):
    page = visit(guided.url)
    assert page.locator(".chart, #training").count() == 0
    assert "Training" not in page.locator("#nav").inner_text()
    assert "Method c3: heads, on cpu" in page.locator(".origin").inner_text()
    how = page.locator("#made").inner_text()
    for part in (
        "agreement, prior 0.25",
        "0.860, interval 0.770 to 0.950",
        "members 0.850, k-means 0.800",
    ):
        assert part in how


def test_notes_of_the_training_are_in_how_it_was_made(visit, run, new_record, made):
    zeta = "zeta 0.85 was chosen: each view settled with 14 positives."
    page = visit(written(run, new_record(notes=[zeta]), made.view))
    assert zeta in page.locator("#made").inner_text()
    assert zeta not in page.locator("#summary").inner_text()


def test_the_gallery_shows_the_right_pictures(visit, made):
    page = visit(made.url)
    for i in (0, 30, 100, 199):
        thumb = page.locator("#gallery .thumb").nth(i)
        row = int(thumb.get_attribute("data-row"))
        seen = pixels(thumb)
        expected = made.x[made.view.index[row], 0].astype(float)
        eighths = (
            seen[: seen.shape[0] // 8 * 8, : seen.shape[1] // 8 * 8]
            .reshape(8, seen.shape[0] // 8, 8, -1)
            .mean(axis=(1, 3))
        )
        assert np.corrcoef(eighths.ravel(), expected.ravel())[0, 1] > 0.97
        assert made.names[made.view.index[row]] in thumb.get_attribute("aria-label")


def test_each_cluster_shows_typical_and_uncertain_ones(visit, made):
    page = visit(made.url)
    first = page.locator("#gallery .cluster").first
    cluster = int(first.get_attribute("data-id"))
    strips = first.locator(".thumbs")
    assert strips.count() == 2
    rows = strips.nth(1).locator("button").evaluate_all("nodes => nodes.map((node) => Number(node.dataset.row))")
    members = made.confidence[made.labels == cluster]
    np.testing.assert_allclose(made.view.confidence[rows], np.sort(members)[: len(rows)], rtol=1e-4)
    assert "Nearest" in first.inner_text()


def test_sorting_sorts(visit, made):
    page = visit(made.url)
    sizes = np.bincount(made.labels)
    confidence = [made.confidence[made.labels == i].mean() for i in range(10)]
    assert [sizes[i] for i in order(page)] == sorted(sizes, reverse=True)
    page.locator("[data-key=confidence]").click()
    assert [confidence[i] for i in order(page)] == sorted(confidence, reverse=True)
    page.locator("[data-key=confidence]").click()
    assert [confidence[i] for i in order(page)] == sorted(confidence)
    page.locator("[data-key=name]").click()
    assert order(page) == list(range(10))


def test_a_cluster_opens_and_closes(visit, made):
    page = visit(made.url)
    cluster = page.locator("#gallery .cluster").nth(2)
    size = int((made.labels == int(cluster.get_attribute("data-id"))).sum())
    cluster.locator(".open").click()
    dialog = page.locator("dialog")
    assert dialog.locator(".thumb").count() == size
    dialog.get_by_role("button", name="Least certain first").click()
    rows = dialog.locator(".thumb").evaluate_all("nodes => nodes.map((node) => Number(node.dataset.row))")
    assert (np.diff(made.view.confidence[rows]) >= -1e-4).all()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")


def test_an_image_opens_large_and_leads_to_its_cluster(visit, made):
    page = visit(made.url)
    thumb = page.locator("#gallery .thumb").nth(40)
    name = made.names[made.view.index[int(thumb.get_attribute("data-row"))]]
    thumb.click()
    assert name in page.locator("dialog").inner_text()
    assert pixels(page.locator("dialog .thumb")).std() > 20
    page.locator("dialog").get_by_role("button", name="Go to").click()
    page.locator("dialog").wait_for(state="detached")
    assert page.evaluate("document.activeElement.className").startswith("cluster")


def test_an_image_links_to_its_original_file(visit, new_run, digits, tmp_path):
    x, y = digits
    folder = tmp_path / "my photos #1"
    names = [f"sub/a b%{i}?.png" for i in range(40)]
    (folder / "sub").mkdir(parents=True)
    for name, pixels in zip(names, x, strict=False):
        Image.fromarray(pixels[0]).save(folder / name)
    data = {"place": str(folder), "n": 40, "shape": [1, 8, 8], "content": "photograph", "classes": None, "skipped": []}
    page = visit(new_run(tmp_path / "runs" / "a", x[:40], y[:40], names, n_clusters=3, data=data).url)
    page.locator("#gallery .thumb").first.click()
    link = page.locator("dialog a")
    name = link.inner_text()
    assert not link.get_attribute("href").startswith("/")  # a run that moves with its pictures finds them
    with page.expect_popup() as opened:
        link.click()
    opened.value.wait_for_load_state()
    assert opened.value.evaluate("document.images[0].naturalWidth") == 8
    assert Path(unquote(urlparse(opened.value.url).path)) == folder / name


def test_search_finds_by_name(visit, made):
    page = visit(made.url)
    page.get_by_label("Find by name").fill("DIGIT 012")
    assert page.locator(".find .thumb").count() == sum("digit 012" in made.names[i] for i in made.view.index)
    assert f"{page.locator('.find .thumb').count()} images found" in page.locator(".find p").inner_text()
    row = int(page.locator(".find .thumb").first.get_attribute("data-row"))
    page.locator(".find .thumb").first.click()
    assert made.names[made.view.index[row]] in page.locator("dialog").inner_text()
    assert page.locator("dialog a").count() == 0  # digits are no files
    page.keyboard.press("Escape")
    page.get_by_label("Find by name").fill("nobody")
    assert page.locator(".find p").inner_text() == "0 images found."
    assert page.locator(".find .thumb").count() == 0


def test_terms_of_the_method_come_last(visit, made):
    page = visit(made.url)
    order = page.locator("main > section").evaluate_all("all => all.map((each) => each.id)")
    assert order.index("truth") < order.index("training") < order.index("made")
    assert not page.locator('[data-curve="positives_per_view"]').is_visible()


def test_labels_of_axes_are_legible_on_a_phone(visit, made):
    page = visit(made.url, 375, 812, has_touch=True, is_mobile=True)
    chart = page.locator('[data-curve="loss"]')
    chart.scroll_into_view_if_needed()
    boxes = chart.locator("svg text").evaluate_all(
        "all => all.map((t) => [t.getBoundingClientRect(), parseFloat(getComputedStyle(t).fontSize)])"
        ".map(([b, size]) => [b.left, b.right, b.top, b.bottom, size])"
    )
    assert len(boxes) > 6
    assert all(left >= 0 and right <= 375 and size >= 12 for left, right, _, _, size in boxes)
    overlaps = [
        (a, b)
        for i, a in enumerate(boxes)
        for b in boxes[:i]
        if min(a[1], b[1]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[2], b[2]) > 3
    ]
    assert overlaps == []


def test_hovering_the_map_shows_a_picture(visit, made):
    page = visit(made.url)
    tip = page.locator("#tip")
    assert tip.is_hidden()
    point_at(page, 123)
    assert tip.is_visible()
    assert tip.locator("b").inner_text().startswith("digit ")
    assert pixels(tip.locator(".thumb")).std() > 20


def test_a_click_on_the_map_goes_to_the_cluster(visit, made):
    page = visit(made.url)
    point_at(page, 50)
    name = page.locator("#tip b").inner_text()
    cluster = made.labels[made.names.index(name)]
    page.mouse.down()
    page.mouse.up()
    assert page.evaluate("document.activeElement.id") == f"cluster-{cluster}"


def test_the_map_zooms_and_pans(visit, made):
    page = visit(made.url)
    canvas = page.locator("#map canvas")
    at = "node => node.pointAt(7)"
    before = canvas.evaluate(at)
    page.get_by_role("button", name="Zoom in").click()
    zoomed = canvas.evaluate(at)
    assert before != zoomed
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 40, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 90, box["y"] + 60, steps=4)
    page.mouse.up()
    assert canvas.evaluate(at) == pytest.approx([zoomed[0] + 50, zoomed[1] + 20], abs=1)
    page.get_by_role("button", name="Show all").click()
    assert canvas.evaluate(at) == pytest.approx(before)
    page.mouse.wheel(0, -200)
    page.wait_for_timeout(200)
    assert canvas.evaluate(at) == pytest.approx(before), "the wheel scrolls the page until the map has the focus"


def test_the_map_works_by_keyboard(visit, made):
    page = visit(made.url)
    page.locator("#map canvas").focus()
    page.keyboard.press("ArrowRight")
    first = page.locator("#tip b").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip b").inner_text() != first
    name = page.locator("#tip b").inner_text()
    assert name in page.locator("#live").inner_text()
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    name = page.locator("#tip b").inner_text()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == f"cluster-{made.labels[made.names.index(name)]}"


def test_the_map_is_drawn_in_colour_and_by_class(visit, made):
    page = visit(made.url)
    canvas = page.locator("#map canvas")
    canvas.scroll_into_view_if_needed()
    page.wait_for_timeout(200)
    before = np.asarray(Image.open(io.BytesIO(canvas.screenshot())).convert("RGB")).astype(int)
    assert (np.ptp(before, axis=2) > 60).mean() > 0.005
    assert page.locator(".legend button").count() == 10
    page.get_by_role("button", name="By class").click()
    assert "digit 3" in page.locator(".legend").inner_text()
    page.locator(".legend button").nth(3).click()
    page.wait_for_timeout(200)
    assert page.locator(".legend button").nth(3).get_attribute("aria-pressed") == "true"
    after = np.asarray(Image.open(io.BytesIO(canvas.screenshot())).convert("RGB")).astype(int)
    assert (np.ptp(after, axis=2) > 60).mean() < (np.ptp(before, axis=2) > 60).mean() / 3


def test_curves_of_both_stages_are_drawn(visit, made):
    page = visit(made.url)
    loss = page.locator('[data-curve="loss"]')
    assert loss.locator(".panel").count() == 2
    assert loss.locator("path.line").count() == 2
    assert "from 11 at epoch 1 to" in loss.locator("svg").first.get_attribute("aria-label")
    assert page.locator('[data-curve="cluster_sizes"] path.area').count() == 20
    page.locator("#training summary").click()
    assert page.locator('[data-curve="positives_per_view"] .ref').count() == 1
    loss.locator("svg").first.hover()
    assert "epoch" in loss.locator(".read").first.inner_text()


def test_the_confusion_matrix_and_how_it_was_made(visit, made):
    page = visit(made.url)
    assert page.locator(".matrix tbody tr").count() == 10
    assert page.locator(".matrix td.match").count() >= 9
    assert page.locator(".acc li").count() == 10
    told = page.locator("#made").inner_text()
    for part in ("c3clust fit digits -k 10", "zeta", "0.6", "seed", "numpy"):
        assert part in told


@pytest.mark.parametrize("width", [375, 320])
def test_a_phone_needs_no_sideways_scrolling(visit, made, width):
    page = visit(made.url, width, 812, has_touch=True, is_mobile=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(".cluster .open").first.click()
    assert page.locator("dialog").bounding_box()["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_tap_shows_and_a_second_tap_jumps(visit, made):
    page = visit(made.url, 375, 812, has_touch=True)
    canvas = page.locator("#map canvas")
    canvas.scroll_into_view_if_needed()
    x, y = canvas.evaluate("node => node.pointAt(5)")
    canvas.tap(position={"x": x, "y": y})
    assert page.locator("#tip").is_visible()
    canvas.tap(position={"x": x, "y": y})
    assert page.evaluate("document.activeElement.id").startswith("cluster-")


def luminance(page) -> float:
    return float(np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("L")).mean())


def test_dark_and_light(visit, made):
    assert luminance(visit(made.url, color_scheme="dark")) < 80
    page = visit(made.url, color_scheme="light")
    assert luminance(page) > 200
    toggle = page.locator("#theme")
    toggle.click()
    assert toggle.inner_text() == "Light"
    toggle.click()
    assert luminance(page) < 80
    page.reload()
    page.wait_for_selector("#made")
    assert toggle.inner_text() == "Dark"
    visit.faults.extend([] if luminance(page) < 80 else ["the choice was forgotten"])


def test_every_control_has_a_name_and_every_picture_a_text(visit, made):
    page = visit(made.url)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, a, [role=img], canvas")]
           .filter((node) => !node.closest("[hidden]") && !(node.getAttribute("aria-label") || node.textContent.trim()))
           .map((node) => node.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    assert page.locator("h1").count() == 1


def test_strips_take_one_stop_of_the_tab_key(visit, made):
    page = visit(made.url)
    strip = page.locator("#gallery .thumbs").first
    assert strip.locator("button:not([tabindex='-1'])").count() == 1
    strip.locator("button").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement === document.querySelectorAll('#gallery .thumbs')[0].children[1]")
    page.keyboard.press("Enter")
    assert page.locator("dialog").count() == 1


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, digits, new_run):
    x, y = digits
    names = [f"{i} {HOSTILE[i % 4]}" for i in range(200)]
    path = tmp_path_factory.mktemp("hostile") / "run"
    data = {"place": HOSTILE[0], "n": 200, "skipped": [[HOSTILE[1], HOSTILE[0]]]}
    made = new_run(
        path,
        x[:200],
        y[:200],
        names,
        [f"{HOSTILE[k % 4]} {k}" for k in range(10)],
        4,
        data=data,
        command=HOSTILE[1],
        notes=HOSTILE,
    )
    editing.label(path, {0: HOSTILE[0], 1: HOSTILE[1]})
    render(path)
    return made


def test_hostile_names_are_shown_and_stay_inert(visit, hostile):
    page = visit(hostile.url)
    assert page.evaluate("document.scripts.length") == 3
    assert page.locator("img, iframe, object, embed").count() == 0
    assert HOSTILE[0] in page.locator("#gallery").inner_text()
    assert HOSTILE[1] in page.locator(".findings").inner_text()
    assert HOSTILE[1] in page.locator(".command").inner_text()
    point_at(page, 9)
    assert page.locator("#tip").is_visible()
    page.get_by_role("button", name="By class").click()
    thumb = page.locator("#gallery .thumb").nth(3)
    thumb.click()
    assert hostile.view.names[int(thumb.get_attribute("data-row"))] in page.locator("dialog").inner_text()
    page.keyboard.press("Escape")
    page.locator(".cluster .open").first.click()
    links = page.eval_on_selector_all("a", "nodes => nodes.map((node) => node.getAttribute('href'))")
    assert all(link.startswith("#") for link in links)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_code_that_gets_in_would_not_run(visit, made):
    page = visit(made.url)
    page.evaluate(
        """() => {
             const script = document.createElement("script"), box = document.createElement("div");
             script.textContent = "window.broken = 1";
             box.innerHTML = '<img src="data:," onerror="window.broken = 1">';
             document.body.append(script, box);
           }"""
    )
    page.wait_for_timeout(200)
    assert page.evaluate("window.broken") is None
    assert len(visit.faults) >= 2
    assert all("Content Security Policy" in fault for fault in visit.faults)
    visit.faults.clear()


def test_feature_vectors_get_the_page_without_pictures(visit, digits, new_run, tmp_path):
    x, y = digits
    made = new_run(
        tmp_path / "run", x[:150], y[:150], [f"row <{i}>" for i in range(150)], n_clusters=23, pictures=False
    )
    page = visit(made.url)
    assert page.locator("h1").inner_text() == "150 samples in 23 clusters"
    assert page.locator(".thumb").count() == 0
    assert "row <" in page.locator("#gallery .chip").first.inner_text()
    point_at(page, 3)
    assert page.locator("#tip").inner_text().startswith("row <")
    page.locator(".cluster .open").first.click()
    assert page.locator("dialog .chip").count() >= 1


def test_merged_and_named_clusters(visit, run):
    editing.label(run, {2: "twos"})
    editing.merge(run, [2, 7])
    page = visit(render(run).as_uri())
    assert page.locator("#gallery .cluster").count() == 9
    assert "twos" in page.locator("#cluster-2").inner_text()
    assert "Merged with 7" in page.locator("#cluster-2").inner_text()


def test_the_page_after_split_regroup_and_undo(visit, digits, tmp_path):
    x = digits[0][:120]
    run = tmp_path / "run"
    KMeans(n_clusters=3, random_state=0).fit(x, run_dir=run)

    def shown():
        """The title, the clusters in the page, and the sum of their sizes."""
        page = visit((run / "report.html").as_uri())
        assert page.locator("#gallery .thumb").count() > 0
        sizes = page.locator("#gallery .cluster .figures > span:first-child b").all_inner_texts()
        clusters = page.locator("#gallery .cluster").evaluate_all("all => all.map((each) => Number(each.dataset.id))")
        return page.locator("h1").inner_text(), clusters, sum(int(size) for size in sizes)

    title, clusters, _ = shown()
    assert (title, sorted(clusters)) == ("120 images in 3 clusters", [0, 1, 2])
    split(run, 1, X=x)
    after, parts, _ = shown()
    assert (after, len(parts)) == ("120 images in 4 clusters", 4)
    assert sorted(parts) == sorted(set(load(run).predict(x)))
    regroup(run, 6, X=x)
    grown, six, sizes = shown()
    assert (grown, sizes) == ("120 images in 6 clusters", 120)
    assert sorted(six) == list(range(6))
    undo(run)
    undo(run)
    assert shown()[:2] == (title, clusters)


def test_photographs(visit, new_run, tmp_path):
    if not PHOTOS.exists():
        pytest.skip(f"there is no {PHOTOS}")
    with tarfile.open(PHOTOS) as archive:
        members = sorted((member for member in archive if member.isfile()), key=lambda member: member.name)[::4]
        pictures = [Image.open(archive.extractfile(member)).convert("RGB").resize((128, 128)) for member in members]
    x = np.stack([np.asarray(picture).transpose(2, 0, 1) for picture in pictures])
    classes = sorted({member.name.split("/")[1] for member in members})
    y = np.array([classes.index(member.name.split("/")[1]) for member in members])
    made = new_run(tmp_path / "run", x, y, [member.name for member in members], classes, 5)
    page = visit(made.url)
    for i in (0, 20):
        thumb = page.locator("#gallery .thumb").nth(i)
        seen = pixels(thumb)[6:58, 6:58]  # without the rounded corners
        at = made.view.index[int(thumb.get_attribute("data-row"))]
        whole = Image.fromarray(x[at].transpose(1, 2, 0)).convert("L").resize((64, 64), Image.Resampling.BOX)
        expected = np.asarray(whole)[6:58, 6:58].astype(float)
        fine = [part.reshape(13, 4, 13, 4).mean(axis=(1, 3)).ravel() for part in (seen, expected)]
        assert np.corrcoef(*fine)[0, 1] > 0.93
    point_at(page, 30)
    assert pixels(page.locator("#tip .thumb")).std() > 5


def test_clusters_of_texts_show_words_and_texts(visit, tmp_path, new_record):
    texts = [f"the goal of game {i}" if i % 2 else f"</script><b>the engine of car {i}" for i in range(40)]
    z = np.random.default_rng(0).normal(size=(40, 4))
    sure = np.linspace(0.5, 1, 40)
    view = build(np.array(texts, dtype=object), z, np.arange(40) % 2, sure, [str(i) for i in range(40)], n_clusters=2)
    page = visit(written(tmp_path, new_record(2, 40, scores=None), view))
    assert page.locator("h1").inner_text() == "40 texts in 2 clusters"
    first = page.locator("#cluster-0")
    assert {"engine", "car"} <= set(first.locator(".words li").all_inner_texts())
    assert "goal" in page.locator("#cluster-1 .words").inner_text()
    assert first.locator(".said").count() == 10  # six typical, four uncertain
    least = first.locator(".thumbs").nth(1).locator(".said").first
    assert least.inner_text() == texts[0]
    least.click()
    assert page.locator("dialog .whole").inner_text() == texts[0]


def test_clusters_of_rows_show_what_sets_them_apart(visit, tmp_path, new_record):
    x = np.stack([np.repeat([1.0, 9.0], 20), np.repeat([0.0, 1.0], 20), np.tile([3.0, 4.0], 20)], axis=1)
    columns = [("age", None), ("job", ["<i>cook", "smith"]), ("size", None)]
    z = np.random.default_rng(0).normal(size=(40, 4))
    labels, names = np.repeat([0, 1], 20), [str(i) for i in range(40)]
    view = build(x, z, labels, np.ones(40), names, n_clusters=2, columns=columns)
    page = visit(written(tmp_path, new_record(2, 40, scores=None), view))
    rows = page.locator("#cluster-0 .apart tbody tr").all_inner_texts()
    assert [row.replace("\n", "").split("\t") for row in rows] == [
        ["age", "1", "5", "−1.0"],
        ["job = <i>cook", "100%", "50%", "+1.0"],
    ]
    assert page.locator("#cluster-1 .said").first.inner_text().startswith("age 9, job smith, size")
    axis, less, more = (
        page.locator(f"#cluster-0 .apart {part}").first.bounding_box() for part in (".axis", ".less", ".more")
    )
    middle = axis["x"] + axis["width"] / 2
    assert less["x"] + less["width"] == pytest.approx(middle, abs=1)  # negative differences to the left
    assert more["x"] == pytest.approx(middle, abs=1)


@pytest.mark.parametrize("width", [1280, 375])
def test_copies_are_folded_and_listed(visit, digits, new_record, tmp_path, width):
    x, y = digits
    x, z = np.concatenate([x[:60], x[:1], x[:1], x[2:3]]), np.eye(4)[np.r_[y[:60] % 4, y[0] % 4, y[0] % 4, y[2] % 4]]
    copies = Duplicates(np.r_[np.arange(60), 0, 0, 2], np.r_[np.full(60, np.nan), 1, 0.93, 0.91])
    names = [f"{i}.png" for i in range(63)]
    view = build(x, z, z.argmax(1), np.full(63, 0.9), names, n_clusters=4, duplicates=copies)
    view.write(tmp_path)
    page = visit(written(tmp_path, new_record(4, 63), view), width, 812)
    shown = page.locator("#copies")
    assert "3 of the 63 images are copies of others" in shown.inner_text()
    assert page.locator("[data-kind=copies]").count() == 1
    assert not page.locator(".group-of-copies").first.is_visible(), "folded"
    shown.locator("summary").click()
    first = page.get_by_label("Copies of 0.png", exact=True)
    assert [line for line in first.inner_text().split("\n") if line] == [
        "0.png", "kept", "60.png", "exact copy", "61.png", "near copy, similarity 0.93"
    ]  # fmt: skip
    assert page.locator(".group-of-copies").count() == 2
    in_gallery = page.eval_on_selector_all("#gallery .thumb", "nodes => nodes.map((node) => Number(node.dataset.row))")
    folded = {view.names.index(f"{i}.png") for i in (60, 61, 62)}
    assert not folded & set(in_gallery), "a copy is not shown as a typical image"
    badge = page.locator(f"#gallery [data-row='{view.names.index('0.png')}'] .more-copies").first
    assert badge.inner_text() == "+2"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(("width", "apart"), [(1280, True), (375, False)])
def test_outliers_are_listed_with_their_reason(visit, digits, new_record, tmp_path, width, apart):
    x, y = digits
    z, labels = np.eye(4)[y[:60] % 4], y[:60] % 4
    found = {5: Outlier("far", int(labels[5]), 2, 1.3), 7: Outlier("between", 1, 3, 0.375, 0.35)}
    if apart:
        labels[[5, 7]] = -1
    names = [f"{i}.png" for i in range(60)]
    view = build(x[:60], z, labels, np.full(60, 0.9), names, n_clusters=4, outliers=found)
    view.write(tmp_path)
    page = visit(written(tmp_path, new_record(4, 60), view), width, 812)
    listed = page.locator("#outliers li")
    assert [text.split("\n")[0] for text in listed.all_inner_texts()] == ["5.png", "7.png"], "far ones first"
    assert "The nearest is" in listed.first.inner_text().replace("the nearest", "The nearest")
    assert "Between two clusters: 38% cluster 1, 35% cluster 3." in listed.last.inner_text()
    assert ("They are in no cluster" in page.locator("#outliers").inner_text()) == apart
    assert page.locator("#cluster--1").count() == apart
    assert page.locator("h1").inner_text() == "60 images in 4 clusters"
    listed.first.locator("button").click()
    assert "5.png" in page.locator("dialog.one").inner_text()
    page.keyboard.press("Escape")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_suggested_names_are_marked_as_such(visit, digits, new_record, tmp_path):
    x, y = digits
    z, labels = np.eye(4)[y[:60] % 4], y[:60] % 4
    names = [f"{('red', '<b>', 'fox', 'owl')[label]}/{i}.png" for i, label in enumerate(labels)]
    build(x[:60], z, labels, np.full(60, 0.9), names, n_clusters=4).write(tmp_path)
    new_record(4, 60).write(tmp_path / "record.json")
    Assignments(names, labels, np.full(60, 0.9)).write(tmp_path / "assignments.csv")
    editing.label(tmp_path, {3: "barn owls"})
    page = visit(render(tmp_path).as_uri())
    assert page.locator("#cluster-0 .suggested").inner_text() == "Suggested name: red"
    assert page.locator("#cluster-0 h3").inner_text() == "Cluster 0", "a suggestion is not in use"
    assert page.locator("#cluster-3 .suggested").count() == 0, "a name that was given stays"
    assert "--suggested" in page.locator("#clusters .lede").inner_text()
