"""Write the first lesson of a model with random weights: lists, from which it copies words and looks up their places.

Usage: copy_rows.py DIR --rows FILE [--count N] [--seed N]

Demonstrations hold a word or two each that a policy has to copy, which is too little to learn copying from. Here almost
every token of an answer is one of a list. The words are made up of halves of the rare words of rows
(demonstrations.alpaca.jsonl of `collabui export RUN --epoch base`), whose system prompt the lesson has, too. Lists grow
from 3 to 12 elements in the first half. DIR gets a data set of LLaMA-Factory named lesson. The same rows and seed give
the same bytes.
"""

import argparse
import collections
import json
import os
import random
import re

ROLES = ["link", "button", "checkbox", "switch", "tab", "field"]
FORMS = {
    "List the places of": lambda i, role, word: str(i),
    "Say": lambda i, role, word: word,
    "Find": lambda i, role, word: f"{word} {i}",
    "Click": lambda i, role, word: f"click {role} {word} {i}",
}


def rare(texts):
    """Return the words that few of the texts have, sorted."""
    count = collections.Counter(w for t in texts for w in set(re.findall(r"\w{3,}", t)))
    return sorted(w for w, n in count.items() if n < 0.02 * len(texts))


def example(r, words, most):
    """Return a list as a screen, what is asked of it, and the answer."""

    def made_up():
        a, b = r.choice(words), r.choice(words)
        return a[: len(a) // 2] + b[len(b) // 2 :].lower()

    screen = list(dict.fromkeys(made_up() for _ in range(r.randint(2, most))))
    roles = [r.choice(ROLES) for _ in screen]
    asked = r.sample(range(len(screen)), r.randint(1, min(6, len(screen))))
    form = r.choice(sorted(FORMS))
    goal = f"Goal: {form} " + " and ".join(screen[i] for i in asked)
    lines = [f"{i} {role} {word}" for i, (role, word) in enumerate(zip(roles, screen))]
    answer = [FORMS[form](i, roles[i], screen[i]) for i in asked]
    return "\n".join([goal, "History: none", "Screen:", *lines]), "\n".join(answer)


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
            ask, answer = example(r, words, min(12, 3 + 20 * n // a.count))
            row = {"system": rows[0]["system"], "instruction": ask, "input": "", "output": answer}
            f.write(json.dumps(row, ensure_ascii=False) + "\n")
    columns = {"prompt": "instruction", "query": "input", "response": "output", "system": "system"}
    with open(os.path.join(a.dir, "dataset_info.json"), "w", encoding="utf-8") as f:
        json.dump({"lesson": {"file_name": "lesson.jsonl", "formatting": "alpaca", "columns": columns}}, f)
    print(f"{a.dir}: {a.count} lists of {len(words)} words' halves")


if __name__ == "__main__":
    main()
