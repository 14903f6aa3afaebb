"""Benchmarks of trigpoint against what people use now: ``make bench`` writes RESULTS.md.

A group is a module with four things, listed in `experiments.benchmarks.groups`:

``TITLE``
    Heading of its section.
``specs(quick)``
    What to measure: dictionaries that go to a worker as JSON.
``work(spec)``
    Take one measurement. Runs in a process of its own.
``render(records, report)``
    Tables and plots of the measurements.
"""
