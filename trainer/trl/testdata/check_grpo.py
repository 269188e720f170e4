"""Check what GRPO does, with plain transformers and peft: check_grpo.py FOLDER ADAPTER.

FOLDER is that of a rendered job, which begins at the base model. The output is JSON: log π of every row under the base
model and under ADAPTER, which was trained from it, and the loss of the first rows by TRL and by the formula of
docs/method.md, after weights were moved.
"""

import json
import os
import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

folder, adapter = sys.argv[1:]
sys.path.insert(0, folder)
import train  # noqa: E402

with open(os.path.join(folder, "job.json")) as f:
    job = json.load(f)
with open(job["data"]) as f:
    rows = [json.loads(line) for line in f]
tokenizer = AutoTokenizer.from_pretrained(job["model"])


def logps(model, row):
    """Returns log π of every token of a row's completion, and of the token that ends it."""
    prompt = tokenizer.apply_chat_template(row["prompt"], add_generation_prompt=True, tokenize=False)
    text = prompt + row["completion"][0]["content"] + tokenizer.eos_token
    ids = tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
    n = len(tokenizer(prompt, add_special_tokens=False)["input_ids"])
    log = torch.log_softmax(model(ids).logits[0, :-1].float(), -1)
    return log.gather(1, ids[0, 1:, None])[n - 1 :, 0]


def loss(row, now, before):
    """The formula, of one row: the reference is the base model."""
    ratio, advantage = torch.exp(now - before), row["advantage"]
    bound = ratio.clamp(1 - job["clip"], 1 + job["clip"])
    gain = torch.minimum(ratio * advantage, bound * advantage)
    kl = torch.exp(before - now) - (before - now) - 1
    return (-gain + job["kl"] * kl).mean()


base = AutoModelForCausalLM.from_pretrained(job["model"]).eval()
with torch.no_grad():
    before = [logps(base, row) for row in rows]
    trained = PeftModel.from_pretrained(base, adapter).eval()
    after = [logps(trained, row) for row in rows]

    torch.manual_seed(1)
    trainer = train.grpo(job, rows, tokenizer)
    for name, weight in trainer.model.named_parameters():
        if "lora_B" in name:
            weight.add_(torch.randn_like(weight), alpha=0.02)
    trainer.current_gradient_accumulation_steps = 1
    batch = trainer._prepare_inputs(trainer.collate(trainer.train_dataset[:4]))
    by_trl = trainer.compute_loss(trainer.model, batch).item()
    by_formula = sum(loss(row, logps(trainer.model, row), b) for row, b in zip(rows[:4], before)).item() / 4

print(json.dumps({
    "before": [x.sum().item() for x in before],
    "after": [x.sum().item() for x in after],
    "loss": by_trl,
    "formula": by_formula,
    "old": [sum(row["old_per_token_logps"]) for row in trainer.train_dataset],
}))
