# SPDX-License-Identifier: Apache-2.0
"""Samples how long operators of transformers and collectives take on one's own GPUs, for `host/op_times`.

Reads downwards as a run does: `command` takes the flags, `grid` has the values of each size, `shapes` says which kernels these are,
`refinement` in which order they inform most, `plan` what is left to do and how long it takes. `operators` and `collectives` run kernels,
`devices` and `timing` take their times, `tables` and `journal` keep them. Only `operators`, `precision`, `optimizer_step`, `devices`,
`collectives` and `sampling` need PyTorch.
"""
