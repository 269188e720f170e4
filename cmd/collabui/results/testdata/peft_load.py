"""Loads adapters with PEFT on their base model, and prints what their configurations say: peft_load.py MODEL ADAPTER…"""

import json
import sys

import torch
from peft import PeftConfig, PeftModel
from transformers import AutoModelForCausalLM

out = []
for folder in sys.argv[2:]:
    c = PeftConfig.from_pretrained(folder)
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(sys.argv[1]), folder)
    assert torch.isfinite(model(torch.tensor([[1, 2, 3]])).logits).all()
    trained = sum(float(p.abs().sum()) for n, p in model.named_parameters() if "lora_B" in n)
    assert trained > 0, "the adapter is that of before the training"
    out.append({
        "Base": c.base_model_name_or_path, "Type": c.peft_type, "Task": c.task_type, "Rank": c.r,
        "Alpha": c.lora_alpha, "Modules": sorted(c.target_modules),
    })
json.dump(out, sys.stdout)
