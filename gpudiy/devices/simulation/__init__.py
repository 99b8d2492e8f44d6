"""The simulated GPU.

`program` unrolls a test into events, `single_memory`, `lines` and `many_views` say which moments of a run must come
before which, `clock` draws times for many instances at once, `replay` and `views` run one instance at these times,
`counting` replays only instances that differ in an order that matters, and `signs` counts what a harness would count.
"""
