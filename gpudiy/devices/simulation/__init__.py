"""The simulated GPU.

`program` unrolls a test into events, `single_memory` and `many_views` say which moments of a run must come before
which, `clock` draws times for many instances at once, `replay` and `views` run one instance at these times, and
`counting` replays only instances that differ in an order that matters.
"""
