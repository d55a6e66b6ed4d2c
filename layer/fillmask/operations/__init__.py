"""The operations: fill masks, embed, compare."""
