# Names are found while the recording runs, after all other programs, so that its end does not wait
# for them.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
# With these rights the worker steps back behind other programs.
capabilities=$((16#$(awk '$1 == "CapEff:" { print $2 }' /proc/self/status)))
steps_back=$(($(nice) == 0 && (capabilities >> 23 & 1) && (capabilities >> 24 & 1)))
# This is field 19 of proc(5).
nice_of() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ print $17 }'; }

start_busy_target
# On a busy machine the worker gets no processor for a while, so each recording is longer.
for seconds in 1 2 4 8 16 32; do
  "$LABELSCOPE" record -v -p "$target" --overwrite -o early.jsonl -o early.folded -d "$seconds" \
    >"$work/stdout" 2>"$work/stderr" </dev/null &
  recorder=$!
  children+=("$recorder")
  worker=""
  while ((steps_back)) && [[ -z $worker && -d /proc/$recorder/task ]]; do
    for child in $(cat "/proc/$recorder/task"/*/children 2>/dev/null); do
      [[ $(nice_of "$child") != 19 ]] || worker=$child
    done
  done
  finish
  expect_status "$exit_ok" "recording"
  found=$(sed -n 's/^names of \([0-9,]*\) addresses were found while it recorded$/\1/p' "$work/stderr")
  [[ -n $found ]] || fail "it does not report the names that were found: $(cat "$work/stderr")"
  ((${found//,/} == 0)) || { ((steps_back)) && [[ -z $worker ]]; } || break
done
((${found//,/} > 0)) || fail "no name was found while it recorded for $seconds s"
((!steps_back)) || [[ -n $worker ]] || fail "no worker stepped back behind other programs"
