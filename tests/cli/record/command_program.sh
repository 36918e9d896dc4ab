# A profile of a command names the command's program first, or the one that this executes in the
# end, because pprof takes the first mapping for it. What labelscope had mapped before the exec is
# not there.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command go
# The busy loop is bash, under another name.
cp "$(command -v bash)" "$work/first" && cp "$(command -v bash)" "$work/second" ||
  fail "no bash to copy"
loop='for ((i = 0; i < 200000; i++)); do :; done'
for backend in bpf ptrace; do
  [[ $backend == ptrace ]] || need_sampling
  run record --backend "$backend" -o "$backend-one.pb.gz" -- "$work/first" -c "$loop"
  expect_status "$exit_ok" "one program, by $backend"
  # It runs so long that a look ten times a second sees both.
  run record --backend "$backend" -o "$backend-two.pb.gz" -- "$work/first" \
    -c "$loop; exec $(printf %q "$work/second") -c '$loop; $loop'"
  expect_status "$exit_ok" "two programs, by $backend"
  for name in one two; do
    file=$backend-$name.pb.gz
    [[ $name == one ]] && program=first || program=second
    pprof -raw "$file" |
      sed -E '1,/^Mappings$/d; s/^[^ ]+ [^ ]+ //; s/ \[[^ ]*$//; s/ [0-9a-f]{40}$//' \
      >"$work/mappings"
    [[ $(head -n 1 "$work/mappings") == "$work/$program" ]] ||
      fail "the first mapping of $file is $(head -n 1 "$work/mappings"), not $work/$program"
    ! grep -qxF "$LABELSCOPE" "$work/mappings" || fail "labelscope itself is in $file"
  done
done
# Nor are samples of the child that labelscope makes for the command.
need_command jq
for _ in 1 2 3 4 5 6 7 8; do
  run record -F 4999 --overwrite -o "short.jsonl" -- true
  [[ -e short.jsonl ]] || continue
  jq -e --arg self "$LABELSCOPE" 'select(.type == "module" and .path == $self)' short.jsonl >/dev/null &&
    fail "labelscope itself is in a recording of true"
done
exit 0
