"""Fixtures of all tests, for those of the papers."""

import pytest

pytest.register_assert_rewrite("checks")

from tests.conftest import shared  # noqa: E402  (assertions are rewritten first)

__all__ = ["shared"]
