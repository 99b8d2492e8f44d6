"""From relaxation edges to families of tests: edges, cycles, scope trees, memory maps, names.

`vocabulary.parse_edges` reads names of edges, `generator.Generator` makes the tests of a recipe one by one, and
`generator.blueprint_of_cycle` makes the test of one cycle; `Blueprint.test` builds the `Test`.
"""
