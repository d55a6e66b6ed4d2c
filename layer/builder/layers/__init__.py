"""The Lambda layers and the function, as `sam deploy` takes them."""
