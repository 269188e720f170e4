#!/usr/bin/env python3
"""Recompute every figure of an experiment's table with evalconfidence, scipy and statsmodels.

usage: collabui experiment FILE --json --csv episodes.csv > result.json
       recompute.py result.json episodes.csv

The script prints the number of figures and the greatest difference, and fails if a figure differs by more than 1e-9.
Packages: pip install evalconfidence==0.1.1 statsmodels
"""
import csv
import itertools
import json
import math
import sys
from collections import defaultdict

import numpy as np
from evalconfidence import ItemResult, compare, standard_error
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

LIMIT = 1e-9


def read(path):
    """Return the episodes of every system, in order, as (seed, template, success, missing, false complete)."""
    systems = defaultdict(list)
    with open(path, newline="") as f:
        for e in csv.DictReader(f):
            systems[e["system"]].append((
                e["seed"], e["template"], float(e["success"]), e["missing"] == "true", e["false_complete"] == "true"))
    return systems


def clustered(differences, labels):
    """Return the squared standard error of the mean of clustered differences, and the number of clusters."""
    items = [ItemResult(item_id=str(i), model_id="difference", score=d, cluster_id=l)
             for i, (d, l) in enumerate(zip(differences, labels))]
    return standard_error(items, cluster="cluster_id").se ** 2, len(set(labels))


def two_way(differences, seeds, templates):
    """Return the interval over seeds and templates (Cameron, Gelbach and Miller 2011), from three one-way errors."""
    one, firsts = clustered(differences, seeds)
    two, seconds = clustered(differences, templates)
    both, _ = clustered(differences, [f"{s} {t}" for s, t in zip(seeds, templates)])
    v = max(one + two - both, one, two)
    if v == 0:
        return [np.mean(differences)] * 2
    df = max(1, v * v / (one * one / (firsts - 1) + two * two / (seconds - 1)))
    half = stats.t.ppf(0.975, df) * math.sqrt(v)
    return [np.mean(differences) - half, np.mean(differences) + half]


def contrast(row, systems):
    """Return the figures of a contrast: rates, difference, both intervals, p."""
    sides = [systems[f"{row[side]} on {row['split']}"] for side in ("of", "minus")]
    pairs = [(a, b) for a, b in zip(*sides) if not a[3] and not b[3]]
    sides = list(zip(*pairs))
    # The mean of a seed is the mean of its episodes, and seeds are paired.
    c = compare(*([ItemResult(item_id=e[0], model_id=name, score=100 * e[2]) for e in side]
                  for name, side in zip(("of", "minus"), sides)), paired=True)
    low, high = c.ci_diff
    templates = [a[1] for a, _ in pairs]
    wide = [low, high]
    if len(set(templates)) > 1:
        wide = two_way([100 * (a[2] - b[2]) for a, b in pairs], [a[0] for a, _ in pairs], templates)
    if not row.get("repeated"):
        return [c.mean_a, c.mean_b, c.diff, low, high, *wide, c.p_value]
    if len(set(templates)) == 1:  # seeds that repeat the same systems show nothing about other seeds
        wide = [-100, 100]
    return [c.mean_a, c.mean_b, c.diff, *wide, *wide, 1]


def figures(episodes):
    """Return false completes, and pass^k and pass@k by counting all subsets of k episodes of a seed and template."""
    played = [e for e in episodes if not e[3]]
    cells = defaultdict(list)
    for e in played:
        cells[e[0], e[1]].append(e[2] == 1)
    passes = {all: [], any: []}
    for of, rates in passes.items():
        for k in (1, 2, 4):
            shares = [np.mean([of(c) for c in itertools.combinations(x, k)]) for x in cells.values() if len(x) >= k]
            if not shares:
                break
            rates.append(np.mean(shares))
    return [np.mean([e[4] for e in played]), *passes[all], *passes[any]]


def main(result, episodes):
    with open(result) as f:
        table = json.loads(f.read().strip().splitlines()[-1])
    systems, ours, theirs = read(episodes), [], []
    for row in table["rows"]:
        ours += [row[k] for k in ("of_rate", "minus_rate", "mean", "low", "high", "wide_low", "wide_high", "p")]
        theirs += contrast(row, systems)
    others = [row for row in table["rows"] if not row.get("primary") and not row.get("repeated")]
    ours += [row["p_adj"] for row in others]
    theirs += list(multipletests([row["p"] for row in others], method="holm")[1]) if others else []
    for name, f in table["figures"].items():
        ours += [f["false_completes"], *(f["pass"] or []), *f.get("pass_at", [])]
        theirs += figures(systems[name])
    for seed in table["systems"]:
        for r in seed.values():
            if not r.get("protocol") and r["episodes"]:  # recorded tasks have a bootstrap interval
                ours += [r["low"], r["high"]]
                theirs += proportion_confint(r["successes"], r["episodes"], alpha=0.05, method="wilson")
    if len(ours) != len(theirs):
        sys.exit(f"{len(ours)} figures of the table, {len(theirs)} recomputed")
    worst = max(abs(a - b) for a, b in zip(ours, theirs))
    print(f"{len(ours)} figures, at most {worst:.1g} apart")
    if worst > LIMIT:
        sys.exit(f"expected at most {LIMIT:g}: {[(a, b) for a, b in zip(ours, theirs) if abs(a - b) > LIMIT][:5]}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
