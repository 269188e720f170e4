"""Write the first lesson of a model with random weights: lists from which it copies words and looks up their places.

Usage: copy_rows.py DIR --rows FILE [--count N] [--seed N]

Each demonstration has only a word or two to copy, which is too little to learn copying. Here, almost every token of an
answer comes from a list: lines read from it, or names in the goal with the text that follows them in the list, which a
model learns only together with reading lines. The words consist of halves of the rare words of rows
(demonstrations.alpaca.jsonl of `collabui export RUN --epoch base`), and the lesson has the rows' system prompt, too.
Lists grow from 3 to 12 elements in the first half. Each 16 consecutive lists, which train as one batch, have the same
number of elements, so that little is padded. DIR gets a data set of LLaMA-Factory named lesson. The same rows and seed
give the same bytes.
"""

import argparse
import collections
import json
import os
import random
import re

STATES = {"checkbox": " unchecked", "switch": " off", "field": " empty"}
ROLES = ["button", "checkbox", "field", "item", "link", "switch", "tab"]
FORMS = ["Read", "Click", "Fill"]
READ = 5  # lines
BATCH = 16


def rare(texts):
    """Return the words that occur in few of the texts, sorted."""
    count = collections.Counter(w for t in texts for w in set(re.findall(r"\w{3,}", t)))
    return sorted(w for w, n in count.items() if n < 0.02 * len(texts))


def example(r, words, size, count):
    """Return a prompt, with a screen of size elements and a goal about count of them, and its answer."""

    def made_up():
        a, b = r.choice(words), r.choice(words)
        return a[: len(a) // 2] + b[len(b) // 2 :].lower()

    def name():
        return made_up() + (" " + made_up() if r.random() < 0.25 else "")

    screen = {}
    while len(screen) < size:
        screen[name()] = r.choice(ROLES)
    lines = [f" {n} {i} {role}" for i, (n, role) in enumerate(screen.items())]
    shown = [line + STATES.get(role, "") for line, role in zip(lines, screen.values())]
    asked = [(i, list(screen)[i], made_up()) for i in r.sample(range(size), count)]
    form = r.choice(FORMS)
    match form:
        case "Read":
            i, goal, _ = asked[0]
            answers = ["read" + shown[i], *shown[i + 1 : i + READ]]
        case "Click":
            goal = " and ".join(n for _, n, _ in asked)
            answers = ["click" + lines[i] for i, _, _ in asked]
        case "Fill":
            goal = " and ".join(f"{n} with {v}" for _, n, v in asked)
            answers = [f"input_text{lines[i]} {v}" for i, _, v in asked]
    return "\n".join([f"Goal: {form} {goal}", "History: none", "Screen:", *shown]), "\n".join(answers)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dir")
    p.add_argument("--rows", required=True)
    p.add_argument("--count", type=int, default=40000)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    with open(a.rows, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    words, r = rare([row["instruction"] for row in rows]), random.Random(a.seed)
    os.makedirs(a.dir, exist_ok=True)
    with open(os.path.join(a.dir, "lesson.jsonl"), "w", encoding="utf-8") as f:
        for n in range(a.count):
            if n % BATCH == 0:
                size = r.randint(2, min(12, 3 + 18 * n // a.count))
                count = r.randint(1, min(8, size))
            ask, said = example(r, words, size, count)
            row = {"system": rows[0]["system"], "instruction": ask, "input": "", "output": said}
            f.write(json.dumps(row, ensure_ascii=False) + "\n")
    columns = {"prompt": "instruction", "query": "input", "response": "output", "system": "system"}
    with open(os.path.join(a.dir, "dataset_info.json"), "w", encoding="utf-8") as f:
        json.dump({"lesson": {"file_name": "lesson.jsonl", "formatting": "alpaca", "columns": columns}}, f)
    print(f"{a.dir}: {a.count} lists of {len(words)} words' halves")


if __name__ == "__main__":
    main()
