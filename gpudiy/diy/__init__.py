"""From relaxation edges to families of tests: edges, cycles, scope trees, memory maps, names.

`parse_edges` reads names, `Generator` makes the tests of a set of edges, `test_of_cycle` makes one test of one cycle.
"""
