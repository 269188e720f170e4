package trl

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// standIns replace the packages that the script imports.
const standIns = `
import sys, types
from unittest import mock

for name in ["torch", "datasets", "peft", "transformers"]:
    sys.modules[name] = mock.MagicMock()
trl, utils = types.ModuleType("trl"), types.ModuleType("trl.import_utils")
trl.DPOTrainer, trl.DPOConfig, trl.import_utils = object, None, utils
trl.GRPOTrainer, trl.GRPOConfig = object, None
sys.modules["trl"], sys.modules["trl.import_utils"] = trl, utils
`

// python runs a program next to the script, after standIns, and returns what it prints.
func python(t *testing.T, program string) string {
	t.Helper()

	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "train.py"), script, 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), python, "-c", standIns+program)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("python3: %v, want no error\n%s", err, out)
	}

	return string(out)
}

// ask runs the script's DPO on two answers of 2 and 4 tokens with log-probabilities of −1 and −8. A tensor is a list.
const ask = `
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

trl.DPOTrainer = DPOTrainer

import train
batch = {"chosen_attention_mask": Tensor([[1, 1, 0, 0], [1, 1, 1, 1]])}
print(train.DPO().concatenated_forward(None, batch)["nll_loss"])
print("nll_loss" in train.DPO().concatenated_forward(None, batch, True))
`

func TestFtxWeighsTheMeanOverTheTokensOfEachAnswer(t *testing.T) {
	if got, want := strings.TrimSpace(python(t, ask)), "1.25\nFalse"; got != want {
		t.Errorf("the script's SFT loss = %s, want %s: the mean of 1/2 and 8/4, and none for the reference", got, want)
	}
}
