"""The generated pages in docs are what the records and docstrings of today say."""

from pathlib import Path

from reference.pages import functional_page, operator_page

DOCS = Path(__file__).parents[2] / "docs"


def test_operators(golden):
    golden("operators.md", operator_page(), DOCS)


def test_functions(golden):
    golden("functional.md", functional_page(), DOCS)
