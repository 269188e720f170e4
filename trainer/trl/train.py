"""DPO or GRPO of a LoRA adapter with TRL: train.py JOB.json, which trainer/trl writes.

When it is run again after a kill, it resumes from the newest checkpoint. A row of the data is {"prompt": [messages],
"chosen": [message], "rejected": [message]} for DPO, and {"prompt": [messages], "completion": [message], "advantage":
number} for GRPO. Progress is a line per step in out/progress.jsonl. The adapter is written to out/adapter;
out/done.json comes last.
"""

import glob
import importlib
import json
import os
import sys

import torch
import transformers
from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback

# transformers 5 returns pairs (available, version). TRL 0.24 takes any pair for true.
trl_imports = importlib.import_module("trl.import_utils")
for name, value in list(vars(trl_imports).items()):
    if name.endswith("_available") and isinstance(value, tuple):
        setattr(trl_imports, name, value[0])
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer  # noqa: E402


class Progress(TrainerCallback):
    def __init__(self, path):
        self.path = path

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            with open(self.path, "a") as f:
                f.write(json.dumps({"step": state.global_step, **logs}) + "\n")


class DPO(DPOTrainer):
    """DPO with ftx on the mean over the tokens of each chosen answer. TRL's own term is a mean over the tokens of the
    whole batch, so long answers would count more.
    """

    def concatenated_forward(self, model, batch, is_ref_model=False):
        out = super().concatenated_forward(model, batch, is_ref_model)
        if "nll_loss" in out:
            tokens = batch["chosen_attention_mask"].sum(1)
            out["nll_loss"] = -(out["chosen_logps"] / tokens).mean()
        return out


class GRPO(GRPOTrainer):
    """GRPO on recorded answers: the loss is TRL's; nothing is generated and nothing is rewarded. A row has the tokens of
    prompt and completion, its advantage, and the log-probabilities of its tokens before the update and under the
    reference, which score adds.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, reward_funcs=[], **kwargs)
        self.data_collator = self.collate

    # Rows are drawn and moved as in every other update: TRL's own ways are for prompts that are to be answered.
    def get_train_dataloader(self):
        return transformers.Trainer.get_train_dataloader(self)

    def _get_train_sampler(self, dataset=None):
        return transformers.Trainer._get_train_sampler(self, dataset)

    def _prepare_inputs(self, inputs):
        return transformers.Trainer._prepare_inputs(self, inputs)

    def collate(self, rows):
        prompts, completions = [row["prompt"] for row in rows], [row["completion"] for row in rows]
        out = {
            "prompt_ids": pad(prompts, self.pad_token_id, left=True),
            "prompt_mask": pad([[1] * len(p) for p in prompts], 0, left=True),
            "completion_ids": pad(completions, self.pad_token_id),
            "completion_mask": pad([[1] * len(c) for c in completions], 0),
            "advantages": torch.tensor([row["advantage"] for row in rows]),
        }
        for name in ("old_per_token_logps", "ref_per_token_logps"):
            if name in rows[0]:
                out[name] = pad([row[name] for row in rows], 0.0)
        return out

    def score(self, name, model):
        """Adds to every row the log-probabilities of its completion under a model."""
        model.eval()
        for i, row in enumerate(self.train_dataset):
            if i % 50 == 0:  # a program that says nothing for long counts as hung
                print(f"{name}: {i} of {len(self.train_dataset)} rows", flush=True)
            x = self._prepare_inputs(self.collate([row]))
            ids = torch.cat([x["prompt_ids"], x["completion_ids"]], 1)
            with torch.no_grad(), self.compute_loss_context_manager():
                logps, _ = self._get_per_token_logps_and_entropies(
                    model, ids, torch.ones_like(ids), x["completion_ids"].size(1)
                )
            row[name] = logps[0].tolist()


def pad(rows, value, left=False):
    longest = max(len(row) for row in rows)
    fill = [[value] * (longest - len(row)) for row in rows]
    return torch.tensor([f + list(r) if left else list(r) + f for r, f in zip(rows, fill)])


def load(job, adapter):
    model = AutoModelForCausalLM.from_pretrained(
        job["model"], dtype=getattr(torch, job["dtype"]), trust_remote_code=False, use_safetensors=True
    )
    model.warnings_issued = {}  # TRL 0.24 expects it, transformers 5 no longer has it.
    return PeftModel.from_pretrained(model, adapter[0], is_trainable=adapter[1]) if adapter else model


def start(job):
    """Returns the model to be trained."""
    if job["adapter"]:
        return load(job, (job["adapter"], True))
    lora = LoraConfig(r=job["rank"], lora_alpha=2 * job["rank"], target_modules="all-linear", task_type="CAUSAL_LM")
    return get_peft_model(load(job, None), lora)


def tokens(row, tokenizer):
    """Returns the tokens of a row with its longer answer."""
    both = [row["prompt"] + row[answer] for answer in ("chosen", "rejected", "completion") if answer in row]
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


def common(job):
    """Returns the arguments that every objective has."""
    return dict(
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
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_steps=job["save_steps"],
        save_total_limit=3,
        report_to="none",
        bf16=job["dtype"] == "bfloat16",
        use_cpu=not torch.cuda.is_available(),  # without it, bf16 is refused on a machine without a GPU
        disable_tqdm=True,
    )


def dpo(job, rows, tokenizer):
    model = start(job)
    # The reference is a separate model: with two adapters in one model, a resumed run silently restarts from its first
    # weights. None means the model with its adapter switched off.
    reference = load(job, (job["reference"], False)) if job["reference"] else None
    return DPO(
        model=model,
        ref_model=reference,
        args=DPOConfig(
            **common(job),
            beta=job["beta"],
            label_smoothing=job["smoothing"],
            rpo_alpha=job["ftx"] or None,
            max_length=job["cutoff"],
            max_prompt_length=job["cutoff"],
            force_use_ref_model=reference is not None,
        ),
        train_dataset=Dataset.from_list([{k: r[k] for k in ("prompt", "chosen", "rejected")} for r in rows]),
        processing_class=tokenizer,
    )


def grpo(job, rows, tokenizer):
    def ids(row):
        return tokenizer.apply_chat_template(
            row["prompt"], add_generation_prompt=True, tokenize=True, return_dict=True
        )["input_ids"]

    def answer(row):
        text = row["completion"][0]["content"]
        return tokenizer(text, add_special_tokens=False)["input_ids"] + [tokenizer.eos_token_id]

    trainer = GRPO(
        model=start(job),
        args=GRPOConfig(
            **common(job),
            beta=job["kl"],
            epsilon=job["clip"],
            loss_type="grpo",
            remove_unused_columns=False,
            generation_batch_size=2 * job["per_device"],  # TRL checks this and the next, but nothing is generated.
            num_generations=2,
        ),
        train_dataset=[{"prompt": ids(r), "completion": answer(r), "advantage": r["advantage"]} for r in rows],
        processing_class=tokenizer,
    )
    # The weights are still those of the policy that played, even if a checkpoint is resumed: it is loaded later.
    trainer.score("old_per_token_logps", trainer.model)
    if job["kl"] == 0:
        return trainer
    if job["reference"] == job["adapter"] and job["adapter"]:
        for row in trainer.train_dataset:
            row["ref_per_token_logps"] = row["old_per_token_logps"]
    elif job["reference"]:
        trainer.score("ref_per_token_logps", load(job, (job["reference"], False)).to(trainer.args.device))
    else:
        with trainer.model.disable_adapter():
            trainer.score("ref_per_token_logps", trainer.model)
    return trainer


def main():
    with open(sys.argv[1]) as f:
        job = json.load(f)
    with open(job["data"]) as f:
        rows = [json.loads(line) for line in f]
    tokenizer = AutoTokenizer.from_pretrained(job["model"], trust_remote_code=False)
    given = len(rows)
    rows = short_rows(rows, tokenizer, job["cutoff"], job["skip"])
    torch.manual_seed(job["seed"])
    trainer = {"dpo": dpo, "grpo": grpo}[job["objective"]](job, rows, tokenizer)
    trainer.add_callback(Progress(os.path.join(job["out"], "progress.jsonl")))
    # Torn checkpoints were removed before the start.
    resume = bool(glob.glob(os.path.join(job["out"], "checkpoint-*")))
    trainer.train(resume_from_checkpoint=resume)
    trainer.model.save_pretrained(os.path.join(job["out"], "adapter"))
    trainer.save_state()
    with open(os.path.join(job["out"], "done.json"), "w") as f:
        json.dump({"train_rows": len(rows), "skipped_rows": given - len(rows)}, f)


if __name__ == "__main__":
    main()
