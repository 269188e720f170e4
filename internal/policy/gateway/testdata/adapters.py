"""Make random LoRA adapters of a model, and score answers with them as the trainer's libraries do.

Usage: adapters.py make MODEL DIR N R  write DIR/0 to DIR/N-1, of rank R
       adapters.py score MODEL         read rows of JSON, each {"adapter", "system", "user", "answer", "end"}, an empty
                                       adapter means the model, and write {"logprob", "tokens"} for each, in float32.
                                       With end, the token that ends a turn counts. With temperature, they are those
                                       of sampling at it. With image, a file, it is shown after the user's text.
       adapters.py plant FROM TO HOW   copy an adapter with a fault: zeroed-a, missing-layer or wrong-scale
       adapters.py disguise MODEL DIR  write the tokenizer of a model into DIR, with other tokens for capital letters
                                       and a chat template with other words
       adapters.py tokens MODEL        read the same rows and write {"prompt", "answer"}, the tokens that LLaMA-Factory
                                       trains on with its template qwen
"""

import json
import sys

import torch
from peft import LoraConfig, PeftModel
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, AutoProcessor, AutoTokenizer


def load(path, kind=AutoModelForCausalLM):
    return kind.from_pretrained(path, dtype=torch.float32)


def make(path, out, n, rank):
    with torch.device("meta"):  # a large model need not be read
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(path))
    layers = {k: m for k, m in model.named_modules() if isinstance(m, torch.nn.Linear) and k != "lm_head"}
    names = sorted({k.rsplit(".")[-1] for k in layers})
    for i in range(n):
        torch.manual_seed(100 + i)
        weights = {}
        for name, m in layers.items():
            a = torch.nn.init.kaiming_uniform_(torch.empty(rank, m.in_features), a=5**0.5)
            b = torch.nn.init.normal_(torch.empty(m.out_features, rank), std=2.0)
            weights[f"base_model.model.{name}.lora_A.weight"] = a
            weights[f"base_model.model.{name}.lora_B.weight"] = b
        config = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=names, task_type="CAUSAL_LM")
        config.base_model_name_or_path = path
        config.save_pretrained(f"{out}/{i}")
        save_file(weights, f"{out}/{i}/adapter_model.safetensors")


def plant(source, out, how):
    weights = load_file(f"{source}/adapter_model.safetensors")
    config = LoraConfig.from_pretrained(source)
    if how == "zeroed-a":
        weights = {k: torch.zeros_like(w) if "lora_A" in k else w for k, w in weights.items()}
    elif how == "missing-layer":
        weights = {k: w for k, w in weights.items() if ".layers.1." not in k}
    elif how == "wrong-scale":
        config.lora_alpha //= 2
    config.save_pretrained(out)
    save_file(weights, f"{out}/adapter_model.safetensors")


def disguise(path, out):
    tokenizer = AutoTokenizer.from_pretrained(path)
    tokenizer.chat_template = tokenizer.chat_template.replace("<|im_start|>", "<|im_start|>the ")
    tokenizer.save_pretrained(out)
    with open(f"{out}/chat_template.jinja", "w") as f:
        f.write(tokenizer.chat_template)
    with open(f"{out}/tokenizer.json") as f:
        raw = json.load(f)
    raw["normalizer"] = {"type": "Lowercase"}
    with open(f"{out}/tokenizer.json", "w") as f:
        json.dump(raw, f)


def shown(path, tokenizer, r):
    """Return the tokens of a row's prompt, and a function that returns what goes with them and those of an answer."""
    chat = [{"role": "system", "content": r["system"]}, {"role": "user", "content": r["user"]}]
    if "image" not in r:
        text = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        return tokenizer(text, add_special_tokens=False)["input_ids"], lambda answer: {}

    processor = AutoProcessor.from_pretrained(path)
    chat[1]["content"] = [{"type": "text", "text": r["user"]}, {"type": "image"}]
    text = processor.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    x = processor(text=[text], images=[Image.open(r["image"]).convert("RGB")], return_tensors="pt")
    prompt = x.pop("input_ids")[0].tolist()
    kinds = x.pop("mm_token_type_ids")
    x.pop("attention_mask")
    return prompt, lambda answer: dict(x, mm_token_type_ids=torch.cat([kinds, kinds.new_zeros(1, len(answer))], 1))


@torch.no_grad()
def score(path):
    rows = [json.loads(line) for line in sys.stdin]
    tokenizer = AutoTokenizer.from_pretrained(path)
    kind = AutoModelForImageTextToText if "image" in rows[0] else AutoModelForCausalLM
    out = [None] * len(rows)
    for adapter in sorted({r["adapter"] for r in rows}):
        model = load(path, kind)
        if adapter:
            model = PeftModel.from_pretrained(model, adapter)
        model.eval()
        for i, r in enumerate(rows):
            if r["adapter"] != adapter:
                continue
            prompt, seen = shown(path, tokenizer, r)
            answer = tokenizer(r["answer"], add_special_tokens=False)["input_ids"]
            if r.get("end"):
                answer = answer + [tokenizer.eos_token_id]
            logits = model(torch.tensor([prompt + answer]), **seen(answer)).logits[0]
            logits = (logits / r.get("temperature", 1)).log_softmax(-1)
            at = range(len(prompt) - 1, len(prompt) + len(answer) - 1)
            out[i] = {"logprob": sum(logits[j, t].item() for j, t in zip(at, answer)), "tokens": len(answer)}
    for o in out:
        print(json.dumps(o))


def tokens(path):
    from llamafactory.data.template import get_template_and_fix_tokenizer
    from llamafactory.hparams import DataArguments

    tokenizer = AutoTokenizer.from_pretrained(path)
    template = get_template_and_fix_tokenizer(tokenizer, DataArguments(template="qwen"))
    for line in sys.stdin:
        r = json.loads(line)
        chat = [{"role": "user", "content": r["user"]}, {"role": "assistant", "content": r["answer"]}]
        prompt, answer = template.encode_oneturn(tokenizer, chat, r["system"])
        print(json.dumps({"prompt": prompt, "answer": answer}))


if __name__ == "__main__":
    if sys.argv[1] == "tokens":
        tokens(sys.argv[2])
    elif sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    elif sys.argv[1] == "plant":
        plant(*sys.argv[2:])
    elif sys.argv[1] == "disguise":
        disguise(*sys.argv[2:])
    else:
        score(sys.argv[2])
