"""optcheck proves from the SASS of a binary that a litmus test survived compilation.

Of gpudiy it imports only `gpudiy.litmus` and the packages below it.
"""
