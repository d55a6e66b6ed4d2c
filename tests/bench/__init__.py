"""The benchmark: ours and the usual alternatives in one run, alternating, on one checkpoint.

Not a test: it asserts nothing but that every contestant answers. Read in this order: contestants.py
(who runs), cold.py, sizing.py, warm.py, throughput.py, memory.py, cache.py (what is measured),
cost.py, promises.py, report.py.
"""
