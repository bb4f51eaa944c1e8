"""Fixtures of the main tests that the papers' tests use."""

import pytest

pytest.register_assert_rewrite("checks")

from tests.conftest import shared  # noqa: E402  (assertions are rewritten first)

__all__ = ["shared"]
