#!/usr/bin/env bash
# Train a small Qwen2 as a team trains a large one, on this machine's CPU. LLaMA-Factory trains all its parameters,
# first on lists to copy from and then on demonstrations of webtasks (examples/production-small-base.yaml). vLLM serves
# the result through a gateway, and every agent gets a LoRA adapter by DPO on its own rollouts
# (examples/production-small.yaml).
#
# Usage: scripts/production_small.sh [DIR [train|experiment]] (default: .production-small train). A second call
# continues the first one. Experiment plays examples/experiments/small/production-small.yaml from the same base.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
dir="$(realpath -m "${1:-.production-small}")"
what="${2:-train}"
case "$what" in
train | experiment) ;;
*) echo "production_small.sh: $what: want train or experiment" >&2 && exit 2 ;;
esac
if ! command -v curl >/dev/null; then
  echo "production_small.sh: curl is missing: apt-get install curl" >&2
  exit 1
fi
if [ ! -x bin/collabui ] || [ ! -x bin/collabui-local ]; then
  echo "production_small.sh: bin/collabui is missing: make build" >&2
  exit 1
fi
engine="127.0.0.1:${COLLABUI_SMALL_ENGINE:-8021}"
gateway="127.0.0.1:${COLLABUI_SMALL_GATEWAY:-9021}"
vllm="$(scripts/vllm.sh)"
llamafactory="$(scripts/llamafactory.sh)"
python="$(dirname "$llamafactory")/python"
export COLLABUI_POLICY_KEY=small CUDA_VISIBLE_DEVICES="" HF_HUB_OFFLINE=1
# The threads of the trainer and of vLLM share the cores, so a waiting thread yields its core.
export OMP_WAIT_POLICY=passive
# The trainer keeps freed memory: returning it after every step cost 8 % of the time.
export MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=8589934592
mkdir -p "$dir"
printf '#!%s\n' "$python" | cat - scripts/llamafactory_single.py >"$dir/llamafactory"
chmod +x "$dir/llamafactory"
export COLLABUI_LLAMAFACTORY="$dir/llamafactory"

# run calls the program with the services of this folder.
run() { bin/collabui "$@" --data "$dir/data"; }

# attended runs a program that is killed when this script ends.
attended() {
  "$@" &
  wait $!
}

# finish ends the processes that this script started: a program that it waits for, vLLM and the gateway.
finish() {
  # shellcheck disable=SC2046 # a word per process
  kill $(jobs -p) 2>/dev/null || true
  wait
}
trap finish EXIT

# model makes a Qwen2 with random weights. Its tokens are the pieces of words in demonstrations, which stage 1 of an
# embedded policy makes in a minute.
model() {
  printf '%s\n' 'name: words' 'environment: webtasks' 'environments: {webtasks: {words: made-up}}' \
    'finetune: {demonstrations: 2000, max_chunks: 1}' 'evaluation: {val: 1}' >"$dir/words.yaml"
  bin/collabui train "$dir/words.yaml" --until stage-1 --data "$dir/words"
  rm -rf "$dir/rows"
  bin/collabui export words --epoch base --out "$dir/rows" --data "$dir/words"
  bin/collabui down --data "$dir/words"
  "$python" scripts/make_model.py "$dir/new" --shape deep --vocabulary 512 --apart \
    --rows "$dir/rows/demonstrations.alpaca.jsonl"
  mv "$dir/new" "$dir/random"
}

# lesson SEED FROM TO COUNT teaches a model to copy words and to look up their places, which it does not learn from
# demonstrations alone.
lesson() {
  local at="$dir/lesson-$1" from="$dir/$2" to="$dir/$3"
  rm -rf "$at" "$dir/new"
  "$python" scripts/copy_rows.py "$at" --count "$4" --seed "$1" --rows "$dir/rows/demonstrations.alpaca.jsonl"
  printf '%s\n' "model_name_or_path: $from" 'stage: sft' 'do_train: true' 'finetuning_type: full' \
    'template: qwen' 'dataset: lesson' "dataset_dir: $at" 'cutoff_len: 1024' "output_dir: $at/out" \
    'per_device_train_batch_size: 16' 'num_train_epochs: 1' 'disable_shuffling: true' 'use_muon: true' \
    'learning_rate: 5.0e-3' 'lr_scheduler_type: cosine' 'warmup_steps: 100' 'disable_gradient_checkpointing: true' \
    'save_strategy: "no"' 'report_to: none' 'logging_steps: 50' 'seed: 1' >"$at/job.yaml"
  attended "$COLLABUI_LLAMAFACTORY" train "$at/job.yaml" >"$at.log" 2>&1 || {
    tail -n 5 "$at.log" >&2
    exit 1
  }
  cp -r "$from" "$dir/new"
  cp "$at/out/model.safetensors" "$dir/new/"
  mv "$dir/new" "$to"
}

pids=()

# stop ends vLLM and the gateway.
stop() {
  [ ${#pids[@]} -gt 0 ] || return 0
  kill "${pids[@]}" 2>/dev/null || true
  wait "${pids[@]}" || true
  pids=()
}

# serve MODEL [DIGEST] starts vLLM with a model's folder, and a gateway beside it. vLLM reads every prompt at once: on a
# CPU, vLLM 0.32 ends with "CPU Generator does not use offset" when it reads a prompt with a seed in parts. The
# tokenizer is in a folder without the model's config.json, because transformers 5.19 would otherwise split words as
# Qwen2's own tokenizer does.
serve() {
  stop
  for address in "$engine" "$gateway"; do
    if curl --silent --output /dev/null "http://$address/health"; then
      echo "production_small.sh: something answers at $address already, perhaps what an earlier call left: end it, or" \
        "set COLLABUI_SMALL_ENGINE and COLLABUI_SMALL_GATEWAY to other ports" >&2
      exit 1
    fi
  done
  mkdir -p "$dir/tokenizer"
  cp "$1"/tokenizer* "$1"/chat_template.jinja "$dir/tokenizer/"
  VLLM_CPU_KVCACHE_SPACE=1 VLLM_ALLOW_RUNTIME_LORA_UPDATING=True VLLM_NO_USAGE_STATS=1 \
    "$vllm" serve "$1" --tokenizer "$dir/tokenizer" --served-model-name base ${2:+"$2"} \
    --host "${engine%:*}" --port "${engine#*:}" \
    --enable-lora --max-loras 8 --max-cpu-loras 8 --max-lora-rank 16 --dtype float32 --max-model-len 2048 \
    --generation-config vllm --logprobs-mode processed_logprobs --enforce-eager --no-enable-chunked-prefill \
    >>"$dir/vllm.log" 2>&1 &
  pids=($!)
  bin/collabui worker --roles serve --listen "$gateway" --server "http://$engine" --base-model "$1" \
    --work "$dir/gateway" --data "$dir/data" >>"$dir/gateway.log" 2>&1 &
  pids+=($!)
  until curl --silent --fail --output /dev/null "http://$engine/health"; do
    for pid in "${pids[@]}"; do
      kill -0 "$pid" || { tail -n 5 "$dir/vllm.log" "$dir/gateway.log" >&2 && exit 1; }
    done
    sleep 1
  done
}

# example writes an example with the folders of this machine.
example() {
  cp -r examples/prompts "$dir/"
  sed "s#/models/#$dir/#" "examples/$1.yaml" >"$dir/$1.yaml"
}

# base runs stage 1. Its result is a whole model, with which a person, or this script, starts vLLM again. If the run has
# already ended, an earlier call resumed it after the result was written.
base() {
  local digest=""
  example production-small-base
  serve "$dir/taught"
  bin/collabui train "$dir/production-small-base.yaml" --until stage-1 --data "$dir/data" &
  local tuned=$!
  while [ -z "$digest" ] && kill -0 "$tuned" 2>/dev/null; do
    sleep 5
    digest="$({ run show production-small-base || true; } 2>&1 |
      sed -n 's/.*export --policy \([0-9a-f]*\).*/\1/p' | head -n 1)"
  done
  if [ -n "$digest" ]; then
    rm -rf "$dir/new"
    run export --policy "$digest" --out "$dir/new"
    serve "$dir/new" "$digest"
    run resume production-small-base
  fi
  wait "$tuned"
  mv "$dir/new" "$dir/base"
}

[ -e "$dir/random" ] || model
[ -e "$dir/copying" ] || lesson 1 random copying 28800
[ -e "$dir/taught" ] || lesson 2 copying taught 19200
COLLABUI_POLICY="http://$gateway/v1" run up --tabs 48
[ -e "$dir/base" ] || base
example production-small
sed "s#../../##" examples/experiments/small/production-small.yaml >"$dir/experiment.yaml"
serve "$dir/base"
case "$what" in
train) attended bin/collabui train "$dir/production-small.yaml" --data "$dir/data" ;;
experiment) attended bin/collabui experiment "$dir/experiment.yaml" --data "$dir/data" ;;
esac
