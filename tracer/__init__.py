"""What is computed: dtypes, types, operators, nodes, recordings, tensors and their adjoints."""

if __name__ == "tracer":
    raise ImportError("the folder tracer/ is installed as gradc.tracer: import gradc.tracer")
