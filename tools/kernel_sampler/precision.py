# SPDX-License-Identifier: Apache-2.0
"""Whether a device computes in a type, and PyTorch set up so that it does."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .devices import Device
from .element_types import ElementType
from .faults import UseError

CAPABILITY_OF_TF32 = (8, 0)
CAPABILITY_OF_FP8 = (8, 9)


def torch_type(element: ElementType) -> torch.dtype:
    if not hasattr(torch, element.torch_name):
        raise UseError(f"PyTorch {torch.__version__} has no {element.torch_name}", "install a newer PyTorch")
    return getattr(torch, element.torch_name)


def set_up_type(element: ElementType, device: Device) -> torch.dtype:
    """fp32 is computed without tf32, tf32 with it. Throws UseError where there is no such type."""
    is_nvidia = device.kind == "gpu" and not torch.version.hip
    capability = torch.cuda.get_device_capability() if is_nvidia else (0, 0)
    if element.flag == "tf32" and capability < CAPABILITY_OF_TF32:
        raise UseError(f"{device.name} has no tf32", "tf32 is of NVIDIA's GPUs from A100 on: take fp32")
    if element.flag == "bf16" and device.kind == "gpu" and not torch.cuda.is_bf16_supported():
        raise UseError(f"{device.name} has no bf16", "take fp16")
    if element.flag == "fp8":
        if is_nvidia and capability < CAPABILITY_OF_FP8:
            raise UseError(f"{device.name} has no fp8", "take bf16")
        if not hasattr(F, "scaled_mm"):
            raise UseError(f"PyTorch {torch.__version__} has no torch.nn.functional.scaled_mm", "install PyTorch 2.10 or newer")
    torch.backends.cuda.matmul.allow_tf32 = element.flag == "tf32"
    torch.backends.cudnn.allow_tf32 = element.flag == "tf32"
    return torch_type(element)
