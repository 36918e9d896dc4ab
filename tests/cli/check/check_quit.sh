# Ctrl-\ (SIGQUIT) ends a check like Ctrl-C, with a verdict, and ends the program's background
# processes, too.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command setsid
ulimit -c 0

# This process leaves the process group, so no key of a terminal reaches it.
cat >program <<END
setsid sh -c 'echo \$\$ >aside; exec sleep 600' &
until [ -s aside ]; do sleep 0.02; done
echo \$\$ >first
exec $(printf %q "$UNRULY") forever
END
runs_unruly() { [[ -s first && $(readlink "/proc/$(<first)/exe") == "$UNRULY" ]]; }
for depth in '' --step; do
  rm -f aside first
  # shellcheck disable=SC2086  # no word at all, or one
  env --default-signal=QUIT "$LABELSCOPE" check $depth -- bash program \
    >"$work/stdout" 2>"$work/stderr" </dev/null &
  recorder=$!
  children+=("$recorder")
  wait_until "the program runs" runs_unruly
  kill -QUIT "$recorder"
  finish
  expect_status "$exit_unchecked" "Ctrl-\\ ($depth)"
  expect_shown 'interrupted: the program was ended'
  is_gone "$(cat aside)" || { kill "$(cat aside)"; fail "what it had put aside runs on ($depth)"; }
done
