"""The checks: one verdict per exercise, and a cause only where it is established."""

from .engine import check
from .verdict import Verdict, progress

__all__ = ["Verdict", "check", "progress"]
