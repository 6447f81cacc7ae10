"""Running programs: toolchains, builds, the cache on disk, libraries, devices and threads."""

if __name__ == "runtime":
    raise ImportError("runtime/ is installed as gradc.runtime: import gradc.runtime")
