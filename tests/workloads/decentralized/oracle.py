#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Closed forms of training across sites, written from their source's text alone, and what they make of many configurations.

oracle.py FILE        compares FILE with what comes out here
oracle.py --write FILE
"""
import csv
import io
import itertools
import math
import sys

DEFAULTS = dict(
    parameters=144, isMoE=False, activeParams=24, sharedParams=0, expertParallel=False, moeLayers=0, tokens=12, numNodes=72,
    pflopsPerNode=32, vramPerNode=2304, bandwidthMbps=100, latencyMs=100, mfu=0.4, innerSteps=128, compression=16,
    localBatch=131072, microBatches=8, precision="FP16", streamingEnabled=True, hierarchicalEnabled=False, nodesPerGroup=8,
    regionalBandwidth=1000, regionalLatency=20, regionalSteps=16, stragglerStrategy="none", stragglerCoefficient=0.05,
    hardwareGrowth=0.137, softwareGrowth=0.477, investmentGrowth=0.544, mfuHfuRatio=0)

#: Section 2.1: weights, gradients, master weights, two moments; section 8.1: bits of a value.
STATE = {"FP16": 2 + 2 + 4 + 4 + 4, "FP8": 1 + 1 + 4 + 4 + 4, "FP4": 0.5 + 0.5 + 4 + 4 + 4}
BITS = {"FP16": 16, "FP8": 8, "FP4": 4}


def straggling(v, n):
    """Section 5."""
    f = 1 + v["stragglerCoefficient"] * math.log2(n)
    return {"none": f, "threshold": 1.0, "backup": 1 + 0.3 * (f - 1)}[v["stragglerStrategy"]]


def appendix_a(v):
    """Which mode, and with how many stages."""
    state, vram, total = STATE[v["precision"]], v["vramPerNode"], v["parameters"]
    per_node = total * state
    if per_node <= vram:
        return ("A'" if v["hierarchicalEnabled"] else "A"), 1, per_node
    if v["isMoE"] and v["expertParallel"]:
        shared = v["sharedParams"] or v["activeParams"]
        ways = v["nodesPerGroup"] if v["hierarchicalEnabled"] else v["numNodes"]
        per_node = (shared + (total - shared) / ways) * state
        if per_node <= vram:
            return ("A'" if v["hierarchicalEnabled"] else "A"), 1, per_node
    stages = math.ceil(per_node / vram)
    return ("C" if v["numNodes"] // stages >= 2 else "B"), stages, per_node


def projection(**changes):
    v = {**DEFAULTS, **changes}
    mode, stages, per_node = appendix_a(v)
    total = v["parameters"] * 1e9
    active = v["activeParams"] * 1e9 if v["isMoE"] else total
    wan, lan = v["latencyMs"] / 1e3, v["regionalLatency"] / 1e3
    out = {"mode": mode, "S": stages, "M": per_node}

    # Section 1.
    t_ep = 2 * (lan if v["hierarchicalEnabled"] else wan) * v["moeLayers"] if v["isMoE"] and v["expertParallel"] else 0
    t_comp = 6 * active * v["localBatch"] / (v["pflopsPerNode"] * 1e15 * v["mfu"]) + t_ep
    out["T_comp"] = t_comp

    # Section 3.
    def exchange(bandwidth_mbps, latency, among):
        volume = total * BITS[v["precision"]] / v["compression"]
        return (2 * volume / (bandwidth_mbps * 1e6) + latency) * straggling(v, among)

    def cycle(work, talk):
        return max(work, talk) if v["streamingEnabled"] else work + talk

    nodes = v["numNodes"] / 1.1 if v["stragglerStrategy"] == "backup" else v["numNodes"]
    all_tokens, batch, h = v["tokens"] * 1e12, v["localBatch"], v["innerSteps"]
    if mode in ("B", "C"):
        regional = mode == "C" and v["hierarchicalEnabled"]
        latency, bandwidth = (lan, v["regionalBandwidth"]) if regional else (wan, v["bandwidthMbps"])
        hidden = 0.03 * math.sqrt(total)
        boundary = batch * hidden * BITS[v["precision"]] / 8
        m = v["microBatches"]
        slot = t_comp / (stages * m) + (boundary / m * 8 / (bandwidth * 1e6) + latency) * straggling(v, stages)
        step = (m + stages - 1) * slot
        busy = t_comp / stages  # of a stage, in a step
        out["T_step"] = step
        out["bubble"] = (stages - 1) / (m + stages - 1)
    if mode == "A":
        out["T_sync"] = exchange(v["bandwidthMbps"], wan, nodes)
        outer = cycle(h * t_comp, out["T_sync"])
        out["utilisation"] = h * t_comp / outer
        seconds = all_tokens / (batch * nodes * h) * outer
        reach = h
    elif mode == "A'":
        group, rounds = v["nodesPerGroup"], v["regionalSteps"]
        out["T_regional_cycle"] = cycle(h * t_comp, exchange(v["regionalBandwidth"], lan, group))
        out["T_global_cycle"] = cycle(rounds * out["T_regional_cycle"], exchange(v["bandwidthMbps"], wan, nodes / group))
        out["utilisation"] = rounds * h * t_comp / out["T_global_cycle"]
        seconds = all_tokens / (batch * nodes * h * rounds) * out["T_global_cycle"]
        reach = h * rounds ** 0.5
    elif mode == "B":
        seconds = all_tokens / batch * step
        out["utilisation"] = busy / step
        reach = 1
    else:
        groups = v["numNodes"] // stages
        out["T_sync"] = exchange(v["bandwidthMbps"], wan, groups)
        outer = cycle(h * step, out["T_sync"])
        out["utilisation"] = h * busy / outer
        seconds = all_tokens / (batch * groups * h) * outer
        reach = h

    # Sections 4, 6 and 7.
    out["alpha"] = 0.08 / (1 + math.log10(v["parameters"]) / 5)
    penalty = 1.15 if v["stragglerStrategy"] == "threshold" else 1
    out["efficiency"] = max(0.4, (1 - out["alpha"] * math.log10(reach)) / penalty)
    out["T_total"] = seconds / 86400
    out["T_effective"] = out["T_total"] / out["efficiency"]
    out["global_MFU"] = 6 * active * all_tokens / (
        v["numNodes"] * v["pflopsPerNode"] * 1e15 * seconds / out["efficiency"])
    out["HFU"] = out["global_MFU"] / (v["mfuHfuRatio"] or 0.8)
    out["L"] = 1 / ((v["hardwareGrowth"] + v["softwareGrowth"] + v["investmentGrowth"]) * math.log(10))
    return out


def configurations():
    """Every mode with every precision and mitigation, streaming or not, with and without hierarchy; branches of experts; corners."""
    sizes = ({}, {"hierarchicalEnabled": True}, {"parameters": 300, "numNodes": 3}, {"parameters": 400})
    for size, precision, strategy in itertools.product(sizes, BITS, ("none", "threshold", "backup")):
        yield {**size, "precision": precision, "stragglerStrategy": strategy}
    for size in sizes:
        yield {**size, "streamingEnabled": False}
    yield {"parameters": 300, "numNodes": 5}
    yield {"parameters": 144.000001}
    yield {"parameters": 400, "hierarchicalEnabled": True}
    experts = {"isMoE": True, "parameters": 600, "activeParams": 100, "expertParallel": True, "moeLayers": 60}
    yield experts
    yield {**experts, "hierarchicalEnabled": True}
    yield {**experts, "hierarchicalEnabled": True, "nodesPerGroup": 24}
    yield {**experts, "sharedParams": 20}
    yield {**experts, "expertParallel": False}
    yield {**experts, "parameters": 120}
    yield {**experts, "numNodes": 3}
    yield {"innerSteps": 1}
    yield {"innerSteps": 1000000, "parameters": 1}
    yield {"parameters": 0.124, "innerSteps": 10000}
    yield {"activeParams": 7}
    yield {"latencyMs": 0, "stragglerCoefficient": 0}
    yield {"mfuHfuRatio": 1, "hardwareGrowth": 0.3, "bandwidthMbps": 1000, "compression": 1}


def shown(value):
    return value if isinstance(value, str) else repr(float(value))


def table():
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["settings", "quantities"])
    for changes in configurations():
        said = " ".join(f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in changes.items())
        writer.writerow([said, " ".join(f"{name}={shown(value)}" for name, value in projection(**changes).items())])
    return text.getvalue()


if __name__ == "__main__":
    if sys.argv[1] == "--write":
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(table())
    elif open(sys.argv[1], encoding="utf-8").read() != table():
        sys.exit(f"{sys.argv[1]} is not what the closed forms come to: oracle.py --write")
