"""Counts the tokens of texts.

Reads a JSON list of texts from standard input and writes a JSON list of numbers to standard output. The argument is the
model's tokenizer.json.
"""

import json
import sys

from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(sys.argv[1])
tokenizer.no_truncation()
texts = json.load(sys.stdin)
print(json.dumps([len(e.ids) for e in tokenizer.encode_batch(texts, add_special_tokens=False)]))
