#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the all-to-alls of this study: every rank sends 16 MB to the ranks of equal number in 32 hosts.

uneven.textproto: one host in four, drawn, is sent twice as much as the others. even.textproto: all are sent the same. uneven_long.textproto: 256 MB.
"""

import pathlib
import random

HOSTS = 32
GPUS = 8
BYTES = 16_000_000
LONG_BYTES = 256_000_000


def workload(weights, sent=BYTES):
    sizes = [round(sent * weight / sum(weights)) for weight in weights]
    row = " ".join(f'size: "{size}B"' for size in sizes)
    rows = "".join(f"  row {{ {row} }}\n" for _ in range(HOSTS))
    return (f"# Made by make_workloads.py.\nranks: {HOSTS * GPUS}\n"
            f'communicator {{ name: "rail" size: {HOSTS} stride: {GPUS} }}\n'
            f'splits {{\n  name: "sent"\n{rows}}}\n'
            'role { name: "all" op { name: "all_to_all" '
            'collective { type: ALL_TO_ALL_V communicator: "rail" splits: "sent" } } }\n')


folder = pathlib.Path(__file__).parent
(folder / "even.textproto").write_text(workload([1] * HOSTS), encoding="utf-8")
hot = set(random.Random(1).sample(range(HOSTS), HOSTS // 4))
uneven = [2 if host in hot else 1 for host in range(HOSTS)]
(folder / "uneven.textproto").write_text(workload(uneven), encoding="utf-8")
(folder / "uneven_long.textproto").write_text(workload(uneven, LONG_BYTES), encoding="utf-8")
