"""Makes _interface.py: gradc.h as cffi reads it, parsed beforehand, since parsing takes 50 ms.

python -m gradc.runtime.interface
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

HEADER = Path(__file__).parents[1] / "templates" / "c" / "gradc.h"
PARSED = Path(__file__).with_name("_interface.py")

# How libraries are opened: by hand, since a program's symbols are known only at run time.
LOADER = """
void *dlopen(const char *path, int mode);
void *dlsym(void *library, const char *symbol);
int dlclose(void *library);
char *dlerror(void);
"""

BANNER = '''"""gradc.h as cffi parsed it; made by `python -m gradc.runtime.interface`."""

# ruff: noqa
# fmt: off
'''


def declarations() -> str:
    """The declarations of gradc.h without the preprocessor's lines, and those of the loader."""
    return re.sub(r"(?m)^#.*$", "", HEADER.read_text(encoding="utf-8")) + LOADER


def parsed() -> str:
    """The text of _interface.py."""
    from cffi import FFI

    parser = FFI()
    parser.set_source("gradc.runtime._interface", None)
    parser.cdef(declarations())
    with TemporaryDirectory() as folder:
        emitted = Path(folder, "interface.py")
        parser.emit_python_code(str(emitted))
        return BANNER + emitted.read_text(encoding="utf-8").partition("\n")[2]


if __name__ == "__main__":
    PARSED.write_text(parsed(), encoding="utf-8")
