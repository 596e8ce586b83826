"""`python -m c3clust` is `c3clust`."""

from c3clust.cli import main

if __name__ == "__main__":
    main()
