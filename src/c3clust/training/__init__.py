"""Training: the loop, its batches, checkpoints."""
