"""list."""


def test_list(c3clust):
    assert "c3" in c3clust("list", "methods").stdout
    assert "c3-cifar10" in c3clust("list", "recipes").stdout
    assert "digits" in c3clust("list", "data").stdout
