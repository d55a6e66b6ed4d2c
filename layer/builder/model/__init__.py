"""Checkpoint in, model folder out."""
