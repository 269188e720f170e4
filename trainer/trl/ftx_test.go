package trl

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ask runs the script's DPO on two answers of 2 and 4 tokens with log-probabilities of −1 and −8. The packages that
// the script imports are stand-ins, and a tensor is a list.
const ask = `
import sys, types
from unittest import mock

for name in ["torch", "datasets", "peft", "transformers"]:
    sys.modules[name] = mock.MagicMock()
trl, utils = types.ModuleType("trl"), types.ModuleType("trl.import_utils")

class Tensor(list):
    def sum(self, dim): return Tensor([sum(row) for row in self])
    def __truediv__(self, other): return Tensor([a / b for a, b in zip(self, other)])
    def mean(self): return sum(self) / len(self)

class DPOTrainer:
    def concatenated_forward(self, model, batch, is_ref_model=False):
        out = {"chosen_logps": Tensor([-1.0, -8.0])}
        if not is_ref_model:
            out["nll_loss"] = 9 / 6  # over the tokens of the batch
        return out

trl.DPOTrainer, trl.DPOConfig, trl.import_utils = DPOTrainer, None, utils
trl.GRPOTrainer, trl.GRPOConfig = object, None
sys.modules["trl"], sys.modules["trl.import_utils"] = trl, utils

import train
batch = {"chosen_attention_mask": Tensor([[1, 1, 0, 0], [1, 1, 1, 1]])}
print(train.DPO().concatenated_forward(None, batch)["nll_loss"])
print("nll_loss" in train.DPO().concatenated_forward(None, batch, True))
`

func TestFtxWeighsTheMeanOverTheTokensOfEachAnswer(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "train.py"), script, 0o644); err != nil {
		t.Fatal(err)
	}

	c := exec.CommandContext(t.Context(), python, "-c", ask)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if got, want := strings.TrimSpace(string(out)), "1.25\nFalse"; err != nil || got != want {
		t.Errorf("the script's SFT loss = %s (%v), want %s: the mean of 1/2 and 8/4, and none for the reference",
			got, err, want)
	}
}
