"""The model: its folder, its session, tokens and windows of text."""
