"""``python -m flashpager``."""

from flashpager.cli import main

main()
