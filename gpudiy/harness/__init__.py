"""From a test to a binary that still is the test: templates, incantations, compilers, the embedded specification."""
