# SPDX-License-Identifier: Apache-2.0
"""Element types that can be sampled: their names in flags, in file names and in PyTorch."""

from __future__ import annotations

from dataclasses import dataclass

from .faults import UseError


@dataclass(frozen=True)
class ElementType:
    flag: str
    suffix: str  # of file names; Weft's name in lower case
    torch_name: str  # of tensors
    size_bytes: int


ELEMENT_TYPES = {
    element_type.flag: element_type
    for element_type in (
        ElementType("fp32", "fp32", "float32", 4),
        ElementType("tf32", "tf32", "float32", 4),
        ElementType("fp16", "fp16", "float16", 2),
        ElementType("bf16", "bf16", "bfloat16", 2),
        ElementType("fp8", "fp8_e4m3", "float8_e4m3fn", 1),
    )
}
SUFFIXES = tuple(element_type.suffix for element_type in ELEMENT_TYPES.values())


def element_type(flag: str) -> ElementType:
    if flag not in ELEMENT_TYPES:
        raise UseError(f'there is no type "{flag}"', f"types are {', '.join(ELEMENT_TYPES)}")
    return ELEMENT_TYPES[flag]
