"""Checkpoints: what people have in their folders, read without running any of it."""
