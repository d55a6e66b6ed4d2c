#!/usr/bin/env bash
# The README's two commands on a machine that has nothing. fresh.sh starts this as the first process of a clean root:
# two_commands.sh SUITE root|user full|fast
set -euo pipefail
SUITE=$1 ACCOUNT=$2 FORM=$3

PLACE='a 项目' # every path of the project has a space and characters that are not ASCII
ANSWER='床前明月光，疑是地上霜。'

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

say() { printf '\n== %s, Python %s, as %s: %s\n' "$SUITE" "$VERSION" "$ACCOUNT" "$*" >&2; }

# A home for the account, and LOGIN: the words that start a command in the checkout as that account, with the
# environment that a login has and no other.
make_account() {
  local path=/usr/local/bin:/usr/bin:/bin home=/root carried
  VERSION=$(python3 -c 'import platform; print(platform.python_version())')
  if [ "$ACCOUNT" = root ]; then
    path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    cp /etc/skel/.npmrc /root
    rm -r /var/lib/apt/lists/* # as in a container's image
  else
    home=/home/$ACCOUNT
    useradd --create-home "$ACCOUNT"
  fi
  mapfile -t carried </etc/environment
  LOGIN=(setpriv "--reuid=$ACCOUNT" "--regid=$ACCOUNT" --init-groups
    env --ignore-environment "HOME=$home" "USER=$ACCOUNT" "LOGNAME=$ACCOUNT" "PATH=$path" "${carried[@]}")
  "${LOGIN[@]}" git -c advice.detachedHead=false -c init.defaultBranch=main clone --quiet /project.bundle "$home/$PLACE"
  cd "$home/$PLACE"
}

# The README's commands, word for word, in RUN and TEST.
read_readme() {
  local commands
  mapfile -t commands < <(sed -nE "s/^    (\.\/build\.sh (run '[^']*'|test))( +#.*)?\$/\1/p" README.md)
  [ ${#commands[@]} = 2 ] || fail "the README has ${#commands[@]} commands to run and test, and not 2"
  RUN=${commands[0]} TEST=${commands[1]}
  [ "$FORM" = full ] || TEST+=' --light'
}

# Run a command line of the README; it takes as long as is said.
command_line() {
  local status=0
  say "$1"
  SECONDS=0
  "${LOGIN[@]}" bash -c "$1" || status=$?
  say "$1: ended with $status after $SECONDS seconds"
  return "$status"
}

# Without root: everything that is missing is named at once, in a command for root.
install_what_is_named() { # COMMAND LINE
  local said
  ! said=$("${LOGIN[@]}" bash -c "$1" 2>&1) || fail "$1 missed nothing"
  [[ "$said" =~ ^error:.*'as root: '(apt-get install .*)$ ]] || fail "$1 said: $said"
  say "$said"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive ${BASH_REMATCH[1]} -y -qq; } >/tmp/apt.log 2>&1 \
    || { tail -5 /tmp/apt.log >&2; fail "the packages that were named could not be installed"; }
}

# Press Ctrl-C soon after a file has appeared: every process of the foreground gets SIGINT, as from a terminal.
interrupt_after() { # FILE COMMAND LINE
  local file=$1 group status=0
  shift
  setsid "${LOGIN[@]}" env --default-signal=INT bash -c "$1" >/dev/null 2>&1 &
  group=$!
  until [ -e "$file" ]; do
    kill -0 "$group" 2>/dev/null || fail "ended before it made $file"
    sleep 0.1
  done
  sleep 0.5
  kill -INT -- "-$group"
  wait "$group" || status=$?
  say "$1: Ctrl-C half a second after $file; ended with $status"
  [ "$status" != 0 ] || fail "took no notice of Ctrl-C"
}

main() {
  local answer
  make_account
  read_readme
  if [ "$ACCOUNT" = root ]; then
    interrupt_after .build/apt.log "$RUN"
    interrupt_after /usr/share/python-wheels "$RUN" # python3-venv is being unpacked
  else
    install_what_is_named "$TEST"
  fi
  interrupt_after .build/venv.unfinished/pyvenv.cfg "$RUN"
  interrupt_after .build/pip.log "$RUN"

  answer=$(command_line "$RUN")
  printf '%s\n' "$answer"
  [[ "$answer" == *"$ANSWER"* ]] || fail "$RUN does not answer $ANSWER"
  command_line "$TEST"
}

main
