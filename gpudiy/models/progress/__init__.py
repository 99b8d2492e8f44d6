"""Does every run of a test end? Progress guarantees, the machines that run a test, and the runs that hang."""
