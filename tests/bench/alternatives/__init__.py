"""What people run instead: each module is a whole Lambda handler, copied to its own /var/task as handler.py."""
