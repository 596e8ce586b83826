"""Reading and decoding files: spans, streams, caches, batches."""
