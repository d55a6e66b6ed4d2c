"""What people run instead; each module is a whole Lambda handler, copied as handler.py."""
