"""What a litmus test is: its types, and reading and printing it in every known format.

`read_test` and `print_test` are the way in and out; a `Test` that exists is valid.
"""
