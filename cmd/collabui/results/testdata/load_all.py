"""Loads every configuration of a folder with the package datasets and prints the rows: load_all.py FOLDER CACHE."""

import json
import os
import sys

os.environ.update(HF_HOME=sys.argv[2], HF_HUB_OFFLINE="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1")
import datasets  # noqa: E402

out = {}
for name in datasets.get_dataset_config_names(sys.argv[1]):
    splits = datasets.load_dataset(sys.argv[1], name)
    assert list(splits) == ["train"], splits
    out[name] = {"columns": splits["train"].column_names, "rows": list(splits["train"])}
json.dump(out, sys.stdout)
