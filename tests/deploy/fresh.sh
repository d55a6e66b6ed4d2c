#!/usr/bin/env bash
# Runs the README's commands on machines that have nothing: clean Debian roots, made for one run and thrown away.
# `fresh.sh --help` says how; two_commands.sh is what happens inside a root.
set -euo pipefail

PROJECT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
INCLUDED=git,ca-certificates,python3 # python3-venv is not among them, as on a new Debian
BUNDLE=/etc/ssl/certs/ca-certificates.crt

usage() {
  cat <<'TEXT'
usage: tests/deploy/fresh.sh [--suite SUITE]... [--as USER]... [--fast] [--python VERSION]

Make a clean Debian root with git, certificates and Python, clone this checkout's commit into a folder with a space and
Chinese characters in its name, interrupt the first installs by Ctrl-C, and run the README's two commands. Nothing of it
outlives the script. Needs root, and installs mmdebstrap.

  --suite SUITE     bookworm (Python 3.11), trixie (3.13), forky (3.14) or sid; again for several
                    (default: bookworm and trixie)
  --as USER         root, or user: somebody who is not root, for whom root installs once what the command names; again
                    for both (default: both)
  --fast            of the tests those that depend on Python alone: `./build.sh test --light`
  --python VERSION  leave out a suite, and say so, whose Python is not VERSION; testing and sid change theirs

A root gets this machine's settings of apt, pip and npm, its proxies and its own certificates, and nothing else. Settings
that name local files stay behind, because a new machine does not have them.
TEXT
}

say() { printf '%s\n' "$*" >&2; }
fail() { say "error: $*"; exit 1; }

read_options() {
  SUITES=() USERS=() FORM=full PYTHON=
  while [ $# -gt 0 ]; do
    case $1 in
      --suite) SUITES+=("${2:?--suite needs a name}"); shift ;;
      --as) USERS+=("${2:?--as needs root or user}"); shift ;;
      --python) PYTHON=${2:?--python needs a version}; shift ;;
      --fast) FORM=fast ;;
      -h | --help) usage; exit ;;
      *) usage >&2; exit 2 ;;
    esac
    shift
  done
  [ ${#SUITES[@]} -gt 0 ] || SUITES=(bookworm trixie)
  [ ${#USERS[@]} -gt 0 ] || USERS=(root user)
  [[ " root user " == *" ${USERS[0]} "* && " root user " == *" ${USERS[-1]} "* ]] || fail "--as takes root or user"
}

prepare() {
  [ "$(id -u)" = 0 ] || fail "only root can make a root"
  apt-get update -qq
  command -v mmdebstrap >/dev/null \
    || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq mmdebstrap debian-archive-keyring >/dev/null
  WORK=$(mktemp -d "${TMPDIR:-/tmp}/fresh.XXXXXX")
  INSIDE=
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# A root is mounted in a namespace of its own alone. So there is nothing to unmount here, and nothing below WORK that
# is not the script's own; its processes end with the first of them.
clean_up() {
  [ -z "$INSIDE" ] || kill -KILL "$INSIDE" 2>/dev/null || true
  wait
  local try
  for try in 1 2 3; do
    rm -rf --one-file-system "$WORK" && return
    sleep "$try"
  done
}

# Where this machine's apt finds an archive: Debian or Debian-Security.
archive() { # LABEL
  local found
  # shellcheck disable=SC2016
  mapfile -t found < <(apt-get indextargets --format '$(REPO_URI)' "Label: $1" 'Component: main')
  printf '%s' "${found[0]:-}"
}

# apt's sources for a suite. None on a machine that is no Debian: mmdebstrap then takes Debian's own.
sources() { # SUITE
  local debian security
  debian=$(archive Debian) security=$(archive Debian-Security)
  [ -n "$debian" ] || return 0
  printf 'deb %s %s main\n' "$debian" "$1"
  case $1 in
    bookworm | trixie)
      printf 'deb %s %s-updates main\n' "$debian" "$1"
      [ -z "$security" ] || printf 'deb %s %s-security main\n' "$security" "$1"
      ;;
  esac
}

bootstrap() { # SUITE: one archive of a clean root, for every user
  local given
  apt-config dump Acquire >"$WORK/apt.conf"
  sources "$1" >"$WORK/sources.list"
  [ -s "$WORK/sources.list" ] && given=("$WORK/sources.list") || given=()
  # shellcheck disable=SC2016
  mmdebstrap --quiet --mode=root --variant=minbase --include=$INCLUDED --skip=cleanup/apt/lists \
    --aptopt="$WORK/apt.conf" \
    --customize-hook='tar -C / -c usr/local/share/ca-certificates etc/hosts | tar -C "$1" -x' \
    --customize-hook='chroot "$1" update-ca-certificates >/dev/null' \
    "$1" "$WORK/$1.tar" "${given[@]}" 2>"$WORK/mmdebstrap.log" \
    || { tail -5 "$WORK/mmdebstrap.log" >&2; fail "the root of $1 could not be made"; }
}

# pip's settings as one file, wherever they come from here.
pip_settings() {
  python3 -m pip config list 2>/dev/null | python3 -c '
import ast, configparser, sys

made, bundle = configparser.RawConfigParser(), sys.argv[1]
for line in sys.stdin:
    name, _, value = line.partition("=")
    section, _, key = name.rpartition(".")
    section = "global" if section == ":env:" else section
    words = [word for word in ast.literal_eval(value).split() if not word.startswith(("/", "file:"))]
    words = [bundle] if key == "cert" else words
    if words:
        made.read_dict({section: {key: " ".join(words)}})
made.write(sys.stdout)
' "$BUNDLE"
}

npm_settings() {
  local file files=(~/.npmrc)
  if command -v npm >/dev/null; then
    files=("$(npm config get globalconfig)" "$(npm config get userconfig)")
    printf 'registry=%s\n' "$(npm config get registry)"
  fi
  for file in "${files[@]}"; do
    [ ! -f "$file" ] || grep -Ev '^registry *=|= *"?/' "$file" || true
  done
}

# Proxies, and for every variable that says where the certificates lie here, where they lie in the root.
environment() {
  local name
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [ -z "${!name:-}" ] || printf '%s=%s\n' "$name" "${!name}"
  done
  for name in SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS; do
    [ -z "${!name:-}" ] || printf '%s=%s\n' "$name" "$BUNDLE"
  done
}

furnish() { # ROOT
  pip_settings >"$1/etc/pip.conf"
  npm_settings >"$1/etc/skel/.npmrc"
  environment >"$1/etc/environment"
  cp "$PROJECT/tests/deploy/two_commands.sh" "$1/two_commands.sh"
  git -C "$PROJECT" bundle create --quiet "$1/project.bundle" HEAD
}

# What the first process of a root does: make it the root of all there is, and run the commands. pivot_root and not
# chroot, in which nobody can make a namespace, as some tests do.
read -r -d '' ENTER <<'TEXT' || true
set -euo pipefail
cd "$1"; shift
mount --bind . .
cd "$PWD"
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount -t tmpfs tmpfs dev/shm
pivot_root . mnt
cd /
umount -l /mnt
exec bash /two_commands.sh "$@"
TEXT

try_as() { # SUITE USER
  local root="$WORK/$1-$2" status=0
  SECONDS=0
  mkdir "$root"
  tar -C "$root" --numeric-owner -xf "$WORK/$1.tar"
  furnish "$root"
  unshare --mount --pid --fork --kill-child bash -c "$ENTER" enter "$root" "$1" "$2" "$FORM" </dev/null &
  INSIDE=$!
  wait "$INSIDE" || status=$?
  INSIDE=
  rm -rf --one-file-system "$root"
  RESULTS+=("$1 as $2: $([ "$status" = 0 ] && echo passed || echo "failed with $status") after $SECONDS seconds")
  [ "$status" = 0 ] || FAILED=1
}

brings_python() { # SUITE: whether its Python is the one asked for
  local brought
  brought=$(tar -xOf "$WORK/$1.tar" ./var/lib/dpkg/status | sed -n '/^Package: python3$/,/^$/s/^Version: //p')
  [ -z "$PYTHON" ] || [[ "$brought" == "$PYTHON".* ]] || { say "left out: Python $brought of $1 is not $PYTHON"; return 1; }
}

main() {
  local suite user RESULTS=() FAILED=0
  read_options "$@"
  prepare
  [ -z "$(git -C "$PROJECT" status --porcelain)" ] || say "changes that are not committed are not tested"
  for suite in "${SUITES[@]}"; do
    bootstrap "$suite"
    brings_python "$suite" || continue
    for user in "${USERS[@]}"; do try_as "$suite" "$user"; done
    rm "$WORK/$suite.tar"
  done
  [ ${#RESULTS[@]} = 0 ] || printf '%s\n' '' "${RESULTS[@]}" >&2
  return "$FAILED"
}

main "$@"
