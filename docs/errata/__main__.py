"""Writes the page: `python -m docs.errata docs/errata/index.md`."""

import sys

from . import main

main(sys.argv[1:])
