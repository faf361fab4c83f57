"""The optional notebook, and a mark that skips tests if transformers is missing; not in CI."""

import importlib.util

import pytest
from execute import CI, NOTEBOOKS

OPTIONAL = NOTEBOOKS / "your_own_model.ipynb"
needs_transformers = pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None and not CI,
    reason="transformers is not installed; it is optional: notebooks/your_own_model.txt",
)
