"""The checks: one verdict per exercise, and a cause only where it is established."""

from .engine import Verdict, check

__all__ = ["Verdict", "check"]
