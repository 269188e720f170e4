#!/usr/bin/env bash
# Who may know whom (docs/overview.md): a line per rule, "packages : what they must not import". Tests are free.
set -euo pipefail
cd "$(dirname "$0")/.."
m=github.com/collabui/collabui
bad=0
forbid() { # packages, forbidden pattern, why
  local hits
  hits=$(go list -f '{{$p := .ImportPath}}{{range .Imports}}{{$p}} imports {{.}}{{"\n"}}{{end}}' $1 | grep -E "imports ($2)" || true)
  if [ -n "$hits" ]; then echo "$3:"; echo "$hits"; bad=1; fi
}
forbid ./domain/... "$m/" "domain knows nobody"
forbid ./workflows "net|os|io|math/rand|time/rand|$m/internal/(store|llm|cli|supervisor|progress|tinylm|policyserver)|$m/envadapters|$m/trainer|.*(minio|redis|openai|chromedp).*" "workflows do no I/O"
forbid ./activities "$m/workflows|$m/workers|$m/internal/cli|$m/internal/supervisor" "activities do not know workflows"
forbid "./envadapters/... ./trainer/..." "$m/(activities|workflows|workers)|go.temporal.io.*" "adapters and trainers do not know the orchestration"
forbid "$(go list ./... | grep -v internal/llm | tr '\n' ' ')" "github.com/sashabaranov/go-openai.*" "only internal/llm imports go-openai"
forbid ./cmd/... "$m/(activities|workflows|workers|domain|trainer|envadapters)" "cmd is thin"
exit $bad
