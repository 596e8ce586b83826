from c3clust.report import Facts, findings


def test_a_healthy_run_has_no_findings(kinds, new_quality):
    assert kinds() == {}
    assert kinds(quality=new_quality()) == {}


def test_empty_clusters(kinds):
    found = kinds([200, 0, 200, 0, 200])["empty"]
    assert found.text == "Clusters 1 and 3 have no images: there are 3 clusters instead of 5."
    assert "-k 3" not in found.advice, "without evidence for that number"


def test_one_empty_cluster_among_named_ones(new_record):
    facts = Facts(new_record(3, 300), {0: 150, 1: 150, 2: 0}, names={0: "cats", 1: "dogs", 2: "birds"})
    assert [f.text for f in findings(facts) if f.kind == "empty"] == [
        "birds has no images: there are 2 clusters instead of 3."
    ]


def test_many_empty_clusters_are_not_all_listed(kinds):
    text = kinds([50] * 10 + [0] * 10)["empty"].text
    assert text.startswith("Clusters 10, 11, 12, 13, 14, 15 and 4 more have no images: there are 10 clusters")


def test_tiny_cluster(kinds):
    assert "Cluster 3 is very small" in kinds([200, 200, 200, 3])["tiny"].text


def test_giant_cluster(kinds):
    assert "Cluster 0 contains 70% of all images." in kinds([700, 100, 100, 100])["giant"].text
    assert "giant" not in kinds([700, 300])


def test_all_in_one_cluster_is_a_collapse_and_nothing_else_about_sizes(kinds):
    found = kinds([600, 0, 0])
    assert found["collapse"].level == "bad"
    assert not {"empty", "giant"} & set(found)


def test_low_confidence_is_measured_from_guessing(kinds):
    assert "30% confidence" in kinds(confidence=0.3)["unsure"].text
    assert "unsure" in kinds([300, 300], confidence=0.6)
    assert "unsure" not in kinds(confidence=0.6)
    assert "unsure" not in kinds(confidence=None)
    assert "unsure" not in kinds(confidence=0.18, stages=[])  # k-means: its confidence has another scale


def test_unreadable_files(kinds):
    skipped = [[f"{i}.jpg", "truncated"] for i in range(5)]
    found = kinds(data={"n": 600, "skipped": skipped})["unreadable"]
    assert found.text.startswith("5 files were unreadable and skipped: 0.jpg (truncated), 1.jpg (truncated)")
    assert found.text.endswith("and 2 more.")


def test_too_large_files_are_not_unreadable(kinds):
    skipped = [["a.png", "too large: 20,000 × 20,000 pixels"], ["b.jpg", "a Git LFS pointer, not the image itself"]]
    found = kinds(data={"n": 600, "skipped": skipped})
    assert "unreadable" not in found
    assert found["too_large"].text.startswith("1 file was too large and skipped: a.png")
    assert "--max-pixels" in found["too_large"].advice
    assert "git lfs pull" in found["pointers"].advice


def test_few_images(kinds):
    assert "only 6 images per requested cluster" in kinds([6] * 5)["sparse"].text


def test_clusters_that_look_alike_come_with_the_command(kinds):
    found = kinds(alike=((2, 4, 0.97), (1, 2, 0.5)))
    assert found["alike"].advice.endswith("c3clust merge runs/a 2 4")
    assert found["alike"].level == "note"


def test_a_space_without_gaps_is_told_once(kinds):
    pairs = tuple((i, j, 0.95) for i in range(5) for j in range(i))
    found = kinds(alike=pairs)
    assert "10 of 10 pairs" in found["blurred"].text
    assert "alike" not in found


def test_few_samples_per_cluster(kinds, new_quality):
    found = kinds([3] * 5, quality=new_quality(0.9, 0.25, "k-means", doubtful=True))
    assert (
        found["sparse"].text == "There are only 3 images per requested cluster, so these are the clusters of k-means."
    )
    assert not {"doubtful", "uneven"} & set(found)  # which are about clusters that are not shown


def test_identical_samples(kinds):
    found = kinds([60, 0, 0], distinct=1)
    assert found["identical"].level == "bad"
    assert "All 60 images are identical" in found["identical"].text
    assert "collapse" not in found


def test_fewer_distinct_samples_than_clusters(kinds):
    found = kinds([20, 20, 20, 0, 0], distinct=3)
    assert found["identical"].text == "Only 3 of the 60 images differ, fewer than the 5 requested clusters."
    assert "-k 3" in found["identical"].advice
    assert "empty" not in found
    assert "identical" not in kinds([20, 20, 20], distinct=3)


def test_a_low_estimate(kinds, new_quality):
    found = kinds(quality=new_quality(0.75))["inaccurate"]
    assert (found.level, found.text) == ("warn", "Up to 34 in 100 images may be in the wrong cluster.")
    assert found.advice.endswith("judge 30 of them (Check 30): c3clust review runs/a")  # set as code from there on
    assert "inaccurate" in kinds(quality=new_quality(0.8))
    assert "inaccurate" not in kinds(quality=new_quality(0.85))
    worse = kinds(quality=new_quality(0.4))["inaccurate"]
    assert worse.level == "bad"
    assert worse.text == "Probably more images are in a wrong cluster than in the right one."


def test_only_images_are_exported(kinds, new_quality):
    assert "assignments.csv" in kinds(quality=new_quality(0.6), noun="text")["inaccurate"].advice


def test_kmeans_gives_another_result(kinds, new_quality):
    found = kinds(quality=new_quality(doubtful=True))["doubtful"]
    assert found.level == "warn"
    assert "agree on 83% of the images" in found.text
    assert found.advice.endswith("c3clust fit digits -k 10 --method kmeans -o runs/a-kmeans")


def test_kmeans_is_as_good(kinds, new_quality):
    found = kinds(quality=new_quality(0.9, 0.5, simple_is_as_good=True, doubtful=True))
    assert list(found) == ["simple"]  # the doubt is settled, and the prior was not used
    assert found["simple"].level == "note"
    assert "these are the clusters of k-means" in found["simple"].text


def test_uneven_sizes_that_were_chosen_or_asked_for(kinds, new_quality):
    found = kinds([240, 80, 24], quality=new_quality(prior=0.25))["uneven"]
    assert found.text == (
        "Clusters of very different sizes were allowed, because they are more distinct: they contain 24 to 240 images."
    )
    assert "--set prior=even" in found.advice
    asked = kinds([240, 80, 24], quality=new_quality(prior=0.25), params={"prior": 0.25})["uneven"]
    assert "as requested by prior=0.25" in asked.text
    assert "uneven" not in kinds([240, 80, 24], quality=new_quality())


def test_one_cluster_is_a_collapse_whatever_the_estimate(kinds, new_quality):
    assert list(kinds([600, 0, 0], quality=new_quality(0.3, 0.25))) == ["collapse"]
