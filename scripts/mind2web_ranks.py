#!/usr/bin/env python3
"""Turn Mind2Web's scores_all_data.pkl into ranks.jsonl: one line per step, with the ranks of its first 50 candidates.

usage: mind2web_ranks.py scores_all_data.pkl > FOLDER/ranks.jsonl

A pickle can run code when it is loaded: use only the published file.
"""
import json
import pickle
import sys

if len(sys.argv) != 2:
    sys.exit(__doc__)
with open(sys.argv[1], "rb") as f:
    ranks = pickle.load(f)["ranks"]
for sample in sorted(ranks):
    top = {str(node): int(rank) for node, rank in ranks[sample].items() if rank < 50}
    print(json.dumps({"id": sample, "ranks": top}, sort_keys=True))
