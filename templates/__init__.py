"""The only place where C or CUDA is spelled: one template per kind and target, real headers."""

if __name__ == "templates":
    raise ImportError("templates/ is installed as gradc.templates: import gradc.templates")
