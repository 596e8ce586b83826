"""Feature vectors: preprocessing, scaling, neighbours, outliers and the number of clusters."""
