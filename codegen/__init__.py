"""How graphs are laid out and written down: simplify, lower, fuse, plan memory, render."""
