"""Scores answers with the policies that a trainer has saved: score.py JOB.json, which trainer/external writes.

The weights are read from the files of the policies, so what is scored is what was saved. Prompts and answers have the
tokens on which the trainer trains: with "template", those of LLaMA-Factory's template of that name, otherwise those of
the tokenizer's own. The result is a list, in the order of the rows, in the file that the job names.
"""

import hashlib
import json
import os
import sys

CANNOT_SCORE = 3

try:
    import torch
    from peft import PeftModel
    from transformers import (
        AutoConfig,
        AutoModelForCausalLM,
        AutoModelForImageTextToText,
        AutoProcessor,
        AutoTokenizer,
    )
except ImportError as e:
    print(f"{sys.executable} lacks a package: {e}")
    sys.exit(CANNOT_SCORE)


def tokenizers(job):
    """Returns a function of a row that returns the tokens of its prompt, of its answer and of the end of its turn, and
    what the model sees of its picture.
    """
    tokenizer = AutoTokenizer.from_pretrained(job["model"], trust_remote_code=False)

    def ids(text):
        return tokenizer(text, add_special_tokens=False)["input_ids"]

    if job["template"]:
        try:
            from llamafactory.data.template import get_template_and_fix_tokenizer
            from llamafactory.hparams import DataArguments
        except ImportError as e:
            print(f"{sys.executable} lacks a package: {e}")
            sys.exit(CANNOT_SCORE)
        template = get_template_and_fix_tokenizer(tokenizer, DataArguments(template=job["template"]))
        processor = None
        if any(row["image"] for row in job["rows"]):
            processor = AutoProcessor.from_pretrained(job["model"], trust_remote_code=False)

        def both(row):
            images = [row["image"]] if row["image"] else []
            chat = [
                {"role": "user", "content": row["prompt"] + "<image>" * len(images)},
                {"role": "assistant", "content": row["answer"]},
            ]
            if images:
                chat = template.mm_plugin.process_messages(chat, images, [], [], processor)
            prompt, trained = template.encode_oneturn(tokenizer, chat, job["system"])
            n = len(ids(row["answer"]))
            seen = {}
            if images:
                seen = template.mm_plugin.get_mm_inputs(images, [], [], [1], [0], [0], [prompt + trained], processor)
                seen["image_token"] = processor.image_token_id
            return prompt, trained[:n], trained[n : n + 1], seen

        return both

    def both(row):
        chat = [{"role": "user", "content": row["prompt"]}]
        if job["system"]:
            chat.insert(0, {"role": "system", "content": job["system"]})
        prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=True, return_dict=True)
        return prompt["input_ids"], ids(row["answer"]), [tokenizer.eos_token_id], {}

    return both


def load(job, policy):
    """Returns a policy. An adapter must be whole, and must not be all zeros."""
    full = policy["dir"] if policy["kind"] == "full" else job["model"]
    kind = AutoModelForCausalLM
    if type(AutoConfig.from_pretrained(full, trust_remote_code=False)) in AutoModelForImageTextToText._model_mapping:
        kind = AutoModelForImageTextToText
    model = kind.from_pretrained(
        full, dtype=getattr(torch, job["precision"]), trust_remote_code=False, use_safetensors=True
    )
    if torch.cuda.is_available():
        model = model.to("cuda")
    if policy["kind"] == "lora":
        model = PeftModel.from_pretrained(model, policy["dir"])
        check(model, policy["dir"])
    return model.eval()


def check(model, folder):
    """Refuses an adapter that lacks tensors of its own configuration, or whose product is zero in every layer. PEFT
    would silently fill in random and zero matrices.
    """
    from safetensors import safe_open

    with safe_open(os.path.join(folder, "adapter_model.safetensors"), "pt") as f:
        saved = set(f.keys())
    weights = {n.replace(".default", ""): p for n, p in model.named_parameters() if "lora_" in n}
    lacking = sorted(set(weights) - saved)
    if lacking:
        sys.exit(f"the adapter that was saved lacks {len(lacking)} of {len(weights)} tensors, such as {lacking[0]}")
    for part in ("lora_A", "lora_B"):
        if not any(p.abs().max() > 0 for n, p in weights.items() if part in n):
            sys.exit(f"{part} is zero in every layer of the adapter that was saved: it changes nothing")


def nucleus(logprobs, top_p):
    """Returns the logarithm of the probability of the smallest set of tokens whose probability reaches top_p."""
    ordered = logprobs.exp().sort(-1, descending=True).values
    before = ordered.cumsum(-1) - ordered
    return (ordered * ((before < top_p) | (before <= 0))).sum(-1).log()  # the likeliest token always belongs to it


@torch.no_grad()
def score(model, prompt, answer, end, seen, row):
    if row["sampled"]:
        answer = answer + end
    ids = torch.tensor([prompt + answer], device=model.device)
    if seen:
        seen["mm_token_type_ids"] = (ids == seen.pop("image_token")).long()
    seen = {name: tensor.to(model.device) for name, tensor in seen.items()}
    logits = model(ids, **seen).logits[0, len(prompt) - 1 : -1].float()
    given = torch.tensor(answer, device=model.device)[:, None]

    def total(logprobs):
        return logprobs.gather(-1, given).double().sum().item()

    at_one = logits.log_softmax(-1)
    out = {"logprob": total(at_one), "tokens": len(answer), "prompt": len(prompt), "ids": digest(prompt, answer)}
    if row["sampled"]:
        scaled = (logits / row["temperature"]).log_softmax(-1) if row["temperature"] else at_one
        out["scaled"] = total(scaled)
        out["cut"] = out["scaled"] - nucleus(scaled, row["top_p"]).double().sum().item()
    return out


def digest(prompt, answer):
    text = "|".join(" ".join(map(str, ids)) for ids in (prompt, answer))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def main():
    with open(sys.argv[1]) as f:
        job = json.load(f)
    both, rows = tokenizers(job), job["rows"]
    out = [None] * len(rows)
    for digest_of, policy in job["policies"].items():
        model = load(job, policy)
        for i, row in enumerate(rows):
            if row["policy"] == digest_of:
                out[i] = score(model, *both(row), row)
        del model
    with open(job["out"], "w") as f:
        json.dump(out, f)


if __name__ == "__main__":
    main()
