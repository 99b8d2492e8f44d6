"""Pictures: events in columns and labelled arrows between them, drawn as SVG, PNG, graphviz and JSON.

A `Picture` says what is drawn, not what it comes from; other packages make pictures, such as
`gpudiy.models.execution_picture` of an execution.
"""
