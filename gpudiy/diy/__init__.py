"""From relaxation edges to families of tests: edges, cycles, scope trees, memory maps, names.

`vocabulary.parse_edges` reads names, `generator.Generator` makes the tests of a recipe one after the other,
`generator.blueprint_of_cycle` makes one test of one cycle; `Blueprint.test` builds the test itself.
"""
