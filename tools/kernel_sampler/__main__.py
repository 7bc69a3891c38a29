#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`python3 tools/kernel_sampler`, `torchrun ... tools/kernel_sampler` and `python3 -m kernel_sampler` all begin here."""

import sys
from pathlib import Path

if not __package__:  # started by its folder: that is on sys.path, but the package is found from the folder above
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from kernel_sampler.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
