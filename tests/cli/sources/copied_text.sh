# A program has copied its code into memory without a file, at the same addresses. Its labels, names
# and stacks are those of the file that lies there, if the bytes are the same.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
begin() {
  "$COPIED_TEXT" "$1" >"$work/$1.said" 2>&1 &
  target=$!
  children+=("$target")
  wait_until "the target computes" grep -q ready "$work/$1.said"
}
# Prints the share of samples, in per cent, whose line has this pattern.
share() {
  awk -v p="$2" '{ all += $NF } $0 ~ p { good += $NF } END { printf "%d", all ? 100 * good / all : 0 }' "$1"
}

for how in plain part whole; do
  begin "$how"
  for backend in bpf ptrace; do
    run record --backend "$backend" -d 1 -F 499 -p "$target" -o "$how-$backend.folded" --summary tenant
    expect_status "$exit_ok" "$how by $backend"
    expect_shown '^acme +100\.0%'
    whole=$(share "$how-$backend.folded" 'main;outer;middle;leaf( |;)')
    ((whole >= 90)) || fail "$how by $backend: $whole % of the stacks are whole: $(head -n 3 "$how-$backend.folded")"
  done
  run dump --stacks -p "$target"
  expect_status "$exit_ok" "dump of $how"
  expect_shown 'tenant=acme'
  expect_shown '\bmain\b'
  kill -KILL "$target" && wait "$target" 2>/dev/null
done

begin changed
run record -d 1 -F 499 -p "$target" -o changed.folded
expect_status "$exit_ok" "another byte"
(($(share changed.folded '(^|;)(leaf|middle|outer)') == 0)) || fail "names of a file that has other bytes"
(($(share changed.folded 'anon') >= 90)) || fail "not called code without a file: $(head -n 3 changed.folded)"
