"""Every page of the documentation that holds Python runs, and prints what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RUN = ROOT / "tests" / "run_page.py"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUNNABLE = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.name)
def test_page(page):
    command = [sys.executable, "-P", "-W", "error", str(RUN), str(page)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""


@pytest.mark.parametrize("page", RUNNABLE[1:], ids=lambda page: page.name)
def test_every_page_says_what_it_prints(page):
    assert page.read_text(encoding="utf-8").count("# →") >= 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    assert not missing, missing


def test_the_index_names_every_page():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    missing = [page.name for page in PAGES[1:] if f"({page.name})" not in index]
    assert missing in ([], ["index.md"]), missing


def test_a_value_that_is_not_printed_is_noticed(tmp_path):
    lines = ["```python", "print(", "    1, 2)  # → 1 2", "for k in range(2):", "    print(k)"]
    lines += ["    # → 0", "    # → 1", "print(5)  # → 6", "```", ""]
    page = tmp_path / "page.md"
    page.write_text("\n".join(lines), encoding="utf-8")
    ran = subprocess.run([sys.executable, RUN, page], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr == "page.md:8 prints ['5'], the page says ['6']\n"
