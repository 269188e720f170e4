"""SFT or DPO of LoRA adapters of one base model: train.py QUEUE, which trainer/peft runs.

QUEUE is a folder. Every file N.json in it is a job. The base model is loaded once; every job has its own adapter and
optimiser in it, and the open jobs take turns: one optimiser step each. What a job computes does not depend on the
others. While a job is open, N.open exists; a job whose N.json is removed is dropped. The script waits for further jobs
until it is killed.

A job that is run again after a kill resumes from its newest checkpoint. Progress is a line per step in
out/progress.jsonl, and the newest lines for people are in the log that the job names. The adapter is written to
out/adapter; out/done.json comes last. A job that fails leaves the reason in the file "error" that it names.
"""

import glob
import json
import math
import os
import random
import shutil
import sys
import time
import traceback

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.utils import get_peft_model_state_dict, set_peft_model_state_dict
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

KEEP = 3  # checkpoints
MAX_NORM = 1.0  # of a gradient, as in transformers' trainer


class Base:
    """The base model, which all jobs share."""

    def __init__(self, job):
        self.dtype = getattr(torch, job["dtype"])
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.tokenizer = AutoTokenizer.from_pretrained(job["model"], trust_remote_code=False)
        self.plain = AutoModelForCausalLM.from_pretrained(
            job["model"], dtype=self.dtype, trust_remote_code=False, use_safetensors=True
        ).to(self.device)
        if self.device == "cuda":
            self.plain.gradient_checkpointing_enable({"use_reentrant": False})
        self.plain.config.use_cache = False
        self.model = None
        # PEFT's own "all-linear" would also find the matrices of the adapters that are there already.
        head = self.plain.get_output_embeddings()
        linear = (n for n, m in self.plain.named_modules() if isinstance(m, torch.nn.Linear) and m is not head)
        self.linear = sorted({n.rsplit(".")[-1] for n in linear})

    def add(self, name, config, seed):
        """Adds an adapter with the weights that the seed draws."""
        torch.manual_seed(seed)
        if self.model is None:
            self.model = get_peft_model(self.plain, config, adapter_name=name)
        else:
            self.model.add_adapter(name, config)

    def load(self, name, folder):
        """Adds an adapter of a folder."""
        if self.model is None:
            self.model = PeftModel.from_pretrained(self.plain, folder, adapter_name=name, is_trainable=True)
        else:
            self.model.load_adapter(folder, name, is_trainable=True)

    def log_probs(self, rows):
        """Returns the sums of log π over the answers of rows, and their numbers of tokens. A row is the tokens of a
        prompt and of an answer.
        """
        longest = max(len(p) + len(a) for p, a in rows)
        ids = torch.zeros(len(rows), longest, dtype=torch.long)
        mask, answer = torch.zeros_like(ids), torch.zeros(len(rows), longest, dtype=torch.bool)
        for i, (p, a) in enumerate(rows):
            n = len(p) + len(a)
            ids[i, :n] = torch.tensor(p + a)
            mask[i, :n] = 1
            answer[i, len(p) : n] = True
        ids, mask, answer = (x.to(self.device) for x in (ids, mask, answer))
        with torch.autocast(self.device, torch.bfloat16, enabled=self.dtype == torch.bfloat16):
            logits = self.model(input_ids=ids, attention_mask=mask).logits[:, :-1]
        picked = logits.float().log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
        answer = answer[:, 1:]
        return (picked * answer).sum(1), answer.sum(1)


class Job:
    """One adapter with its rows and optimiser."""

    def __init__(self, base, name, job):
        self.base, self.name, self.job, self.out = base, name, job, job["out"]
        self.history, self.step_done = [], 0
        os.makedirs(self.out, exist_ok=True)
        with open(job["data"]) as f:
            given = [json.loads(line) for line in f]
        self.rows = self.short(given)
        self.skipped = len(given) - len(self.rows)
        self.config = LoraConfig(
            r=job["rank"],
            lora_alpha=job["alpha"],
            target_modules=base.linear if job["target"] == "all" else job["target"].split(","),
            task_type="CAUSAL_LM",
        )
        if job["adapter"]:
            base.load(name, job["adapter"])
        else:
            base.add(name, self.config, job["seed"])
        self.config = base.model.peft_config[name]
        self.reference = self.score_reference() if job["objective"] == "dpo" else None
        base.model.set_adapter(name)
        self.weights = [p for p in base.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.weights, lr=job["learning_rate"], weight_decay=job["weight_decay"])
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self.rate)
        self.resume()

    def say(self, text):
        with open(self.job["log"], "a") as f:
            f.write(text + "\n")

    def tokens(self, row):
        prompt = self.base.tokenizer.apply_chat_template(
            row["prompt"], add_generation_prompt=True, tokenize=True, return_dict=True
        )["input_ids"]
        end = [self.base.tokenizer.eos_token_id]
        answers = [row[k][0]["content"] for k in ("chosen", "rejected") if k in row]
        return [(prompt, self.base.tokenizer(a, add_special_tokens=False)["input_ids"] + end) for a in answers]

    def short(self, given):
        """Returns the tokens of the rows that are not too long, if the others are no more than the share skip."""
        rows = [self.tokens(row) for row in given]
        if self.job["objective"] == "sft":
            rows = [row[:1] for row in rows]
        counts = [max(len(p) + len(a) for p, a in row) for row in rows]
        long = [i for i, n in enumerate(counts) if n > self.job["cutoff"]]
        if len(long) == len(rows) or len(long) > self.job["skip"] * len(rows):
            raise ValueError(
                f"{len(long)} of {len(rows)} rows are longer than cutoff {self.job['cutoff']}, more than failed_share "
                f"allows; the first is row {long[0] + 1} with {counts[long[0]]} tokens. Raise cutoff, or go on without "
                "them with `collabui resume --accept-failed --why TEXT`"
            )
        return [row for row, n in zip(rows, counts) if n <= self.job["cutoff"]]

    @torch.no_grad()
    def score_reference(self):
        """Returns log π of all answers under the reference: an adapter, or the base model."""
        base, name, folder = self.base, self.name.replace("job", "reference"), self.job["reference"]
        base.model.eval()
        if not folder:
            with base.model.disable_adapter():
                return self.score_all()
        base.load(name, folder)
        base.model.set_adapter(name)
        out = self.score_all()
        base.model.set_adapter(self.name)
        base.model.delete_adapter(name)
        return out

    def score_all(self):
        out = []
        for i, row in enumerate(self.rows):
            if i % 50 == 0:  # a program that says nothing for long counts as hung
                self.say(f"reference: {i} of {len(self.rows)} rows")
            out.append(self.base.log_probs(row)[0].tolist())
        return out

    def rate(self, step):
        """Returns the share of the peak learning rate at a step: a linear rise, then half a cosine."""
        job = self.job
        if step < job["warmup_steps"]:
            return (step + 1) / job["warmup_steps"]
        done = (step - job["warmup_steps"]) / max(1, job["steps"] - job["warmup_steps"])
        return job["final_share"] + (1 - job["final_share"]) * 0.5 * (1 + math.cos(math.pi * min(1, done)))

    def batch(self):
        """Returns the indices of the rows of the next step. A pass has the whole batches of a random order."""
        size = min(self.job["batch"], len(self.rows))
        steps = len(self.rows) // size
        order = list(range(len(self.rows)))
        random.Random(f"{self.job['seed']}/{self.step_done // steps}").shuffle(order)
        at = self.step_done % steps * size
        return order[at : at + size]

    def step(self):
        """Makes one optimiser step."""
        self.base.model.set_adapter(self.name)
        self.base.model.train()
        picked, sums = self.batch(), {}
        loss_of = self.dpo if self.reference else self.sft
        whole = sum(len(self.rows[i][0][1]) for i in picked)  # tokens of the chosen answers
        for at in range(0, len(picked), self.job["per_device"]):
            part = picked[at : at + self.job["per_device"]]
            loss, figures = loss_of(part, len(picked), whole)
            loss.backward()
            for k, x in figures.items():
                sums[k] = sums.get(k, 0) + x
        torch.nn.utils.clip_grad_norm_(self.weights, MAX_NORM)
        self.optimizer.step()
        self.scheduler.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step_done += 1
        self.history.append({"step": self.step_done, **sums})
        with open(os.path.join(self.out, "progress.jsonl"), "a") as f:
            f.write(json.dumps(self.history[-1]) + "\n")
        if self.step_done == self.job["steps"]:
            self.finish()
        elif self.step_done % self.job["save_steps"] == 0:
            self.save(os.path.join(self.out, f"checkpoint-{self.step_done}"))

    def sft(self, part, rows, tokens):
        """Returns the part of −log π, the mean over the tokens of all answers of the batch."""
        sums, _ = self.base.log_probs([self.rows[i][0] for i in part])
        loss = -sums.sum() / tokens
        return loss, {"loss": loss.item()}

    def dpo(self, part, rows, tokens):
        """Returns the part of conservative DPO, a mean over the rows of the batch (docs/method.md)."""
        job = self.job
        sums, counts = self.base.log_probs([answer for i in part for answer in self.rows[i]])
        reference = torch.tensor([x for i in part for x in self.reference[i]], device=sums.device)
        apart = (sums - reference).view(-1, 2)
        margin = job["beta"] * (apart[:, 0] - apart[:, 1])
        rises, falls = (torch.nn.functional.logsigmoid(x) for x in (margin, -margin))
        each = -(1 - job["smoothing"]) * rises - job["smoothing"] * falls
        each = each - job["ftx"] * (sums / counts).view(-1, 2)[:, 0]
        loss = each.sum() / rows
        return loss, {
            "loss": loss.item(),
            "rewards/margins": margin.sum().item() / rows,
            "rewards/accuracies": (margin > 0).sum().item() / rows,
        }

    def save(self, folder):
        """Writes a checkpoint, its state last."""
        self.save_adapter(folder)
        torch.save(self.optimizer.state_dict(), os.path.join(folder, "optimizer.pt"))
        torch.save(self.scheduler.state_dict(), os.path.join(folder, "scheduler.pt"))
        torch.save({}, os.path.join(folder, "rng_state.pth"))  # nothing is drawn after the start
        self.save_state(folder)
        old = sorted(glob.glob(os.path.join(self.out, "checkpoint-*")), key=lambda d: int(d.rsplit("-")[-1]))
        for folder in old[:-KEEP]:
            shutil.rmtree(folder)

    def save_adapter(self, folder):
        os.makedirs(folder, exist_ok=True)
        weights = get_peft_model_state_dict(self.base.model, adapter_name=self.name)
        weights = {k: v.detach().cpu().contiguous() for k, v in weights.items()}
        save_file(weights, os.path.join(folder, "adapter_model.safetensors"), {"format": "pt"})
        self.config.base_model_name_or_path = self.job["model"]
        inference, self.config.inference_mode = self.config.inference_mode, True
        self.config.save_pretrained(folder)
        self.config.inference_mode = inference

    def save_state(self, folder):
        state = {"global_step": self.step_done, "max_steps": self.job["steps"], "log_history": self.history}
        with open(os.path.join(folder, "trainer_state.json"), "w") as f:
            json.dump(state, f)

    def resume(self):
        """Continues from the newest checkpoint. Torn ones were removed before the start."""
        found = glob.glob(os.path.join(self.out, "checkpoint-*"))
        if not found:
            return
        newest = max(found, key=lambda d: int(d.rsplit("-")[-1]))
        self.say(f"Resuming training from {newest}")
        weights = load_file(os.path.join(newest, "adapter_model.safetensors"))
        set_peft_model_state_dict(self.base.model, weights, adapter_name=self.name)
        self.optimizer.load_state_dict(torch.load(os.path.join(newest, "optimizer.pt"), weights_only=True))
        self.scheduler.load_state_dict(torch.load(os.path.join(newest, "scheduler.pt"), weights_only=True))
        with open(os.path.join(newest, "trainer_state.json")) as f:
            state = json.load(f)
        self.step_done, self.history = state["global_step"], state["log_history"]

    def done(self):
        return self.step_done >= self.job["steps"]

    def finish(self):
        self.save_adapter(os.path.join(self.out, "adapter"))
        self.save_state(self.out)
        with open(os.path.join(self.out, "done.json"), "w") as f:
            json.dump({"train_rows": len(self.rows), "skipped_rows": self.skipped}, f)

    def close(self):
        """Frees the adapter and its optimiser. PEFT needs at least one adapter."""
        if len(self.base.model.peft_config) > 1:
            self.base.model.delete_adapter(self.name)


class Queue:
    """The open jobs of a folder."""

    def __init__(self, folder):
        self.folder, self.base, self.jobs, self.seen = folder, None, {}, set()

    def path(self, name, suffix):
        return os.path.join(self.folder, name + suffix)

    def attempt(self, name, job, do):
        """Does something for a job. If it fails, the job is closed, and its file says why."""
        try:
            return do()
        except Exception as e:
            if "out of memory" in str(e).lower() and torch.cuda.is_available():
                torch.cuda.empty_cache()
            with open(job["error"] + ".part", "w") as f:
                f.write("".join(traceback.format_exception(e))[-8000:])
            os.replace(job["error"] + ".part", job["error"])
            self.close(name)
            return None

    def close(self, name):
        job = self.jobs.pop(name, None)
        if job:
            job.close()
        if os.path.exists(self.path(name, ".open")):
            os.remove(self.path(name, ".open"))

    def open(self):
        """Opens the new jobs, and drops those whose files are gone."""
        there = {os.path.basename(f)[: -len(".json")] for f in glob.glob(self.path("*", ".json"))}
        for name in sorted(set(self.jobs) - there):
            self.close(name)
        for name in sorted(there - self.seen):
            self.seen.add(name)
            open(self.path(name, ".open"), "w").close()
            try:
                with open(self.path(name, ".json")) as f:
                    job = json.load(f)
            except FileNotFoundError:
                self.close(name)
                continue

            def begin():
                if self.base is None:
                    self.base = Base(job)
                return Job(self.base, f"job{int(name):06d}", job)  # PEFT looks for names within names

            begun = self.attempt(name, job, begin)
            if begun:
                self.jobs[name] = begun

    def turn(self):
        """Makes one optimiser step of every open job."""
        for name, job in list(self.jobs.items()):
            if not job.done():
                self.attempt(name, job.job, job.step)
            if name in self.jobs and job.done():
                self.close(name)


def main():
    queue = Queue(sys.argv[1])
    torch.use_deterministic_algorithms(True, warn_only=True)
    while True:
        queue.open()
        queue.turn()
        if not queue.jobs:
            time.sleep(0.2)


if __name__ == "__main__":
    main()
