"""Reading samples: decoding, streams, caches, batches."""
