"""Pictures: events in columns and labelled arrows between them, drawn as SVG, PNG, graphviz and JSON.

A `Picture` says what is drawn and knows nothing of what made it; other rooms make pictures of what they have, such as
`gpudiy.models.execution_picture` of an execution.
"""
