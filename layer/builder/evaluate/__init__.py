"""How good a model is on the user's own data."""
