"""DPO of a LoRA adapter with TRL: train.py JOB.json, which trainer/trl writes.

When it is run again after a kill, it resumes from the newest checkpoint. A row of the data is {"prompt": [messages],
"chosen": [message], "rejected": [message]}. Progress is a line per step in out/progress.jsonl. The adapter is written
to out/adapter; out/done.json comes last.
"""

import glob
import importlib
import json
import os
import sys

import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback

# transformers 5 returns pairs (available, version). TRL 0.24 takes any pair for true.
trl_imports = importlib.import_module("trl.import_utils")
for name, value in list(vars(trl_imports).items()):
    if name.endswith("_available") and isinstance(value, tuple):
        setattr(trl_imports, name, value[0])
from trl import DPOConfig, DPOTrainer  # noqa: E402


class Progress(TrainerCallback):
    def __init__(self, path):
        self.path = path

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            with open(self.path, "a") as f:
                f.write(json.dumps({"step": state.global_step, **logs}) + "\n")


class Trainer(DPOTrainer):
    """DPO with ftx on the mean over the tokens of each chosen answer. TRL's own term is a mean over the tokens of the
    whole batch, so long answers would count more.
    """

    def concatenated_forward(self, model, batch, is_ref_model=False):
        out = super().concatenated_forward(model, batch, is_ref_model)
        if "nll_loss" in out:
            tokens = batch["chosen_attention_mask"].sum(1)
            out["nll_loss"] = -(out["chosen_logps"] / tokens).mean()
        return out


def load(job, adapter):
    model = AutoModelForCausalLM.from_pretrained(job["model"], dtype=getattr(torch, job["dtype"]))
    model.warnings_issued = {}  # TRL 0.24 expects it, transformers 5 no longer has it.
    return PeftModel.from_pretrained(model, adapter[0], is_trainable=adapter[1]) if adapter else model


def tokens(row, tokenizer):
    """Returns the tokens of a row with its longer answer."""
    both = [row["prompt"] + row[answer] for answer in ("chosen", "rejected")]
    return max(len(tokenizer.apply_chat_template(m, tokenize=True, return_dict=True)["input_ids"]) for m in both)


def short_rows(rows, tokenizer, limit, skip):
    """Leaves out the rows that TRL would silently cut, if they are no more than the share skip."""
    counts = [tokens(row, tokenizer) for row in rows]
    long = [i for i, n in enumerate(counts) if n > limit]
    if len(long) == len(rows) or len(long) > skip * len(rows):
        sys.exit(
            f"{len(long)} of {len(rows)} rows are longer than cutoff {limit}, more than failed_share allows; the first "
            f"is row {long[0] + 1} with {counts[long[0]]} tokens: TRL would silently cut them. Raise cutoff, or go on "
            "without them with `collabui resume --accept-failed --why TEXT`"
        )
    return [row for row, n in zip(rows, counts) if n <= limit]


def main():
    with open(sys.argv[1]) as f:
        job = json.load(f)
    with open(job["data"]) as f:
        rows = [json.loads(line) for line in f]
    tokenizer = AutoTokenizer.from_pretrained(job["model"])
    given = len(rows)
    rows = short_rows(rows, tokenizer, job["cutoff"], job["skip"])
    torch.manual_seed(job["seed"])
    model = load(job, (job["adapter"], True) if job["adapter"] else None)
    if not job["adapter"]:
        lora = LoraConfig(
            r=job["rank"], lora_alpha=2 * job["rank"], target_modules="all-linear", task_type="CAUSAL_LM"
        )
        model = get_peft_model(model, lora)
    # The reference is a separate model: with two adapters in one model, a resumed run silently restarts from its first
    # weights. None means the model with its adapter switched off.
    reference = load(job, (job["reference"], False)) if job["reference"] else None
    args = DPOConfig(
        output_dir=job["out"],
        seed=job["seed"],
        data_seed=job["seed"],
        max_steps=job["steps"],
        per_device_train_batch_size=job["per_device"],
        gradient_accumulation_steps=job["accumulate"],
        learning_rate=job["learning_rate"],
        lr_scheduler_type="cosine_with_min_lr",
        lr_scheduler_kwargs={"min_lr_rate": job["final_share"]},
        warmup_steps=job["warmup_steps"],
        weight_decay=job["weight_decay"],
        beta=job["beta"],
        label_smoothing=job["smoothing"],
        rpo_alpha=job["ftx"] or None,
        max_length=job["cutoff"],
        max_prompt_length=job["cutoff"],
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_steps=job["save_steps"],
        save_total_limit=3,
        report_to="none",
        bf16=job["dtype"] == "bfloat16",
        disable_tqdm=True,
        force_use_ref_model=reference is not None,
    )
    data = Dataset.from_list([{k: r[k] for k in ("prompt", "chosen", "rejected")} for r in rows])
    trainer = Trainer(
        model=model,
        ref_model=reference,
        args=args,
        train_dataset=data,
        processing_class=tokenizer,
        callbacks=[Progress(os.path.join(job["out"], "progress.jsonl"))],
    )
    # Torn checkpoints were removed before the start.
    resume = bool(glob.glob(os.path.join(job["out"], "checkpoint-*")))
    trainer.train(resume_from_checkpoint=resume)
    trainer.model.save_pretrained(os.path.join(job["out"], "adapter"))
    trainer.save_state()
    with open(os.path.join(job["out"], "done.json"), "w") as f:
        json.dump({"train_rows": len(rows), "skipped_rows": given - len(rows)}, f)


if __name__ == "__main__":
    main()
