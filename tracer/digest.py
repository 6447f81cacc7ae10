"""SHA-256 by Python's built-in module: hashlib loads OpenSSL, which every start would pay for."""

try:
    from _sha2 import sha256  # type: ignore[import-not-found, unused-ignore]  # Python >= 3.12
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found, unused-ignore]  # 3.11
    except ImportError:
        from hashlib import sha256


def digest(content: str | bytes) -> str:
    """The SHA-256 of a text (as UTF-8) or of bytes, in hexadecimal."""
    data = content.encode() if isinstance(content, str) else content
    return str(sha256(data).hexdigest())
