"""gradc beside other compilers and frameworks, on the same workloads: see __main__.py."""
