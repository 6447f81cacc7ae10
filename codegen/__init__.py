"""How graphs are laid out and written down: simplify, lower, fuse, plan memory, render."""

if __name__ == "codegen":
    raise ImportError("codegen/ is installed as gradc.codegen: import gradc.codegen")
