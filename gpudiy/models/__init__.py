"""What is allowed, and why: events and executions of tests, the cat language, models, verdicts."""
