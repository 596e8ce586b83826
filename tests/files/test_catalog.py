"""What is read from the files is what the modules say."""

from c3clust import data, encoders, methods, paper, recipes
from c3clust.encoders.run import Runs
from c3clust.files import catalog


def test_the_catalog_is_what_the_modules_say():
    assert catalog.datasets() == data.names()
    assert methods.names() == sorted(catalog.methods())
    assert all(methods.load(name).__module__.startswith("c3clust.methods.") for name in catalog.methods())
    assert recipes.names() == list(catalog.recipes())
    kinds = {spec for kind in encoders._kinds() for spec in kind.EXAMPLES}
    assert kinds | set(Runs.EXAMPLES) == set(catalog.encoders())
    assert all(hasattr(paper._load(name), "jobs") for name in catalog.experiments())


def test_titles_are_the_first_lines():
    assert catalog.title(catalog.methods()["kmeans"]).startswith("K-means")
    assert methods.title("c3") == "C3: cross-instance guided contrastive clustering."
