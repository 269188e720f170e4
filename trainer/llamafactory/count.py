"""Counts the tokens of texts: a JSON list on standard input, a JSON list of numbers on standard output. Argument: the model's tokenizer.json."""
import json
import sys

from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(sys.argv[1])
tokenizer.no_truncation()
texts = json.load(sys.stdin)
print(json.dumps([len(e.ids) for e in tokenizer.encode_batch(texts, add_special_tokens=False)]))
