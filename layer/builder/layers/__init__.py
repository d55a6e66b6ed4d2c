"""The Lambda layers."""
