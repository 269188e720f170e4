"""Make a randomly initialised Qwen2 chat model with its tokenizer, without network access.

Usage: make_model.py DIR [--shape tiny|small|deep|vision|7b] [--dtype float32|bfloat16] [--seed N]
                     [--vocabulary N] [--corpus FILE ...] [--rows FILE ...] [--apart]

The tokenizer is a byte-level BPE with the chat template of Qwen2, trained on the sentences below, the corpus, and the
prompts and answers of rows (`collabui export RUN --epoch base` writes them: demonstrations.alpaca.jsonl); it can
encode every text. The system prompt of rows becomes one token, so that a small model does not compute three hundred
tokens in every row. With --apart, the first letter of a word is a separate token, together with the space before it, so
that the other tokens are the same wherever the word stands: a small model that has to copy a word, and the text after
it, looks for its last token. The same seed and versions give the same bytes. --shape vision makes a Qwen2-VL, which
reads images, and has a processor beside the tokenizer. --shape 7b has the sizes of Qwen2-7B (15 GB as bfloat16) and
needs a machine with a GPU; if there is a GPU, the weights are made on it.
"""

import argparse
import json
import os
import string

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen2VLImageProcessor,
    Qwen2VLProcessor,
    Qwen2VLVideoProcessor,
)

SHAPES = {
    "tiny": dict(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=128,
        max_position_embeddings=4096,
        vocab_size=0,
    ),
    "small": dict(  # a head has 64 numbers, which vLLM needs on a CPU
        hidden_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=512,
        max_position_embeddings=4096,
        vocab_size=0,
    ),
    "deep": dict(  # four narrow layers: a million parameters with few tokens, and weights that suit the width
        hidden_size=128,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        intermediate_size=512,
        rope_theta=1e4,
        initializer_range=0.08,
        tie_word_embeddings=True,
        max_position_embeddings=4096,
        vocab_size=0,
    ),
    "7b": dict(
        hidden_size=3584,
        num_hidden_layers=28,
        num_attention_heads=28,
        num_key_value_heads=4,
        intermediate_size=18944,
        max_position_embeddings=32768,
        vocab_size=152064,
    ),
}
# A third of a head turns with the column of an image token. With Qwen2's theta of 1e6, these numbers turn by less than
# a thousandth of a radian across a small picture, and the model does not see where a thing stands.
SHAPES["vision"] = dict(SHAPES["small"], initializer_range=0.08, rope_theta=30.0)
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
IMAGE = ["<|vision_start|>", "<|image_pad|>", "<|video_pad|>", "<|vision_end|>"]
SENTENCES = [
    "You are one of several agents that operate a user interface together.",
    "Goal: click the button Submit, then type the name into the text field.",
    "Screen elements: button, link, checkbox, text field, list item.",
    "Action: click 3\nAction: type 5 hello\nAction: scroll down\nAction: finish",
    "Messages of the other agents: I propose to click the second button.",
]
SPLIT = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"""
    r"""\s*[\r\n]+|\s+(?!\S)|\s+"""
)
APART = r" \p{L}|(?<!\p{L})\p{L}|\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s"
TEMPLATE = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
# A message's content is a text, or a list of texts and images.
CONTENT = (
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}{{ '<|vision_start|><|image_pad|><|vision_end|>' }}"
    "{% endif %}{% endfor %}{% endif %}"
)
VISION_TEMPLATE = TEMPLATE.replace(
    " + message['content'] + '<|im_end|>\n' }}", " }}" + CONTENT + "{{ '<|im_end|>\n' }}"
)


def make_tokenizer(vocabulary, corpus, rows=(), apart=False, special=SPECIAL, template=TEMPLATE):
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    split = pre_tokenizers.Split(Regex(APART if apart else SPLIT), "isolated")
    t.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    t.decoder = decoders.ByteLevel()
    special = [AddedToken(s, special=True, normalized=False) for s in special]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=special,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    texts = list(SENTENCES)
    for path in corpus:
        with open(path, encoding="utf-8") as f:
            texts += f.read().splitlines()
    rows = [json.loads(line) for path in rows for line in open(path, encoding="utf-8")]
    for row in rows:
        texts += [row["instruction"], row["output"]]
    if apart:  # every space, with the character after it, is a token
        texts += [f" {c}" for c in string.ascii_letters + string.digits] * len(texts)
    t.train_from_iterator(texts, trainer)
    t.add_tokens([AddedToken(s, normalized=False) for s in sorted({row["system"] for row in rows})])
    return PreTrainedTokenizerFast(
        tokenizer_object=t,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>", "<|im_end|>"],
        model_max_length=32768,
        padding_side="right",
        chat_template=template,
    )


def vision(text, tokenizer):
    """Return a Qwen2-VL with a small vision tower, whose heads have 64 numbers, too."""
    rope = dict(rope_type="default", mrope_section=[8, 12, 12], rope_theta=text.pop("rope_theta"))
    ids = tokenizer.convert_tokens_to_ids(IMAGE)
    names = ["vision_start_token_id", "image_token_id", "video_token_id", "vision_end_token_id"]
    eye = dict(depth=2, embed_dim=128, num_heads=2, mlp_ratio=2, hidden_size=text["hidden_size"])
    tied = text.pop("tie_word_embeddings")
    text = dict(text, rope_parameters=rope)
    config = Qwen2VLConfig(text_config=text, vision_config=eye, tie_word_embeddings=tied, **dict(zip(names, ids)))
    return Qwen2VLForConditionalGeneration(config)


def processor(tokenizer):
    return Qwen2VLProcessor(
        image_processor=Qwen2VLImageProcessor(),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(),
        chat_template=VISION_TEMPLATE,
    )


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dir")
    p.add_argument("--shape", choices=SHAPES, default="tiny")
    p.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--vocabulary", type=int, default=400)
    p.add_argument("--corpus", nargs="*", default=[])
    p.add_argument("--rows", nargs="*", default=[])
    p.add_argument("--apart", action="store_true")
    a = p.parse_args()
    looks = dict(special=SPECIAL + IMAGE, template=VISION_TEMPLATE) if a.shape == "vision" else {}
    tokenizer = make_tokenizer(a.vocabulary, a.corpus, a.rows, a.apart, **looks)
    shape = dict(SHAPES[a.shape])
    shape["vocab_size"] = shape["vocab_size"] or len(tokenizer)
    shape.setdefault("rope_theta", 1e6)
    shape.setdefault("tie_word_embeddings", False)
    config = dict(
        **shape,
        rms_norm_eps=1e-6,
        use_sliding_window=False,
        bos_token_id=tokenizer.convert_tokens_to_ids("<|endoftext|>"),
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    torch.manual_seed(a.seed)
    torch.set_default_dtype(getattr(torch, a.dtype))
    device = "cuda" if a.shape == "7b" and torch.cuda.is_available() else "cpu"
    with torch.device(device):
        model = vision(config, tokenizer) if a.shape == "vision" else Qwen2ForCausalLM(Qwen2Config(**config))
    model.save_pretrained(a.dir, max_shard_size="5GB")
    tokenizer.save_pretrained(a.dir)
    if a.shape == "vision":
        processor(tokenizer).save_pretrained(a.dir)
    size = sum(os.path.getsize(os.path.join(a.dir, f)) for f in os.listdir(a.dir))
    parameters = sum(x.numel() for x in model.parameters())
    print(f"{a.dir}: {parameters} parameters, {len(tokenizer)} tokens, {size} bytes")


if __name__ == "__main__":
    main()
