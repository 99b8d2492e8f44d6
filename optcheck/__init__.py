"""optcheck proves from the SASS of a binary that a litmus test survived compilation.

The room is empty so far; it may import nothing of gpudiy but `gpudiy.litmus`.
"""
