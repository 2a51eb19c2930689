"""The command `forebay` of an installed package."""

from __future__ import annotations

import os
import sys


def main() -> None:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "forebay")
    os.execv(program, [program, *sys.argv[1:]])
