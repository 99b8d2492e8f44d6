"""optcheck proves from the SASS of a binary that a litmus test survived compilation.

It may import nothing of gpudiy but `gpudiy.litmus` and what that rests on.
"""
