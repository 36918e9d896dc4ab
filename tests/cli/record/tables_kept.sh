# The second recording of a program finds its unwind tables: it starts no worker for them, and its
# first sample has a whole stack. A kept table that is damaged is named, and made again.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command cc
need_command jq
cat >"$work/spin.c" <<'EOC'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) static void spin(volatile unsigned long* turns) {
  for (;;) ++*turns;
}
int main(void) {
  unsigned long turns = 0;
  puts("ready");
  fflush(stdout);
  alarm(300);
  spin(&turns);
  return 0;
}
EOC
cc -O2 -fomit-frame-pointer -o "$work/spin" "$work/spin.c" || fail "no program"
"$work/spin" >"$work/said" &
target=$!
children+=("$target")
wait_until "the target is ready" grep -qs ready "$work/said"

record_once() { # file, options...
  run record --verbose --backend bpf --call-graph dwarf -d 0.3 -F 999 -o "$1" -p "$target" "${@:2}"
  expect_status "$exit_ok" "recording $1"
}
ends() { # of stacks without a table
  jq -se 'map(select(.type == "ledger"))[0].counters | map(select(.name == "stacks-no-table"))[0].count // 0' "$1"
}
record_once first.jsonl
expect_said '0 unwind tables of an earlier recording'
made=$(find "$XDG_CACHE_HOME/labelscope" -name '*.table' | wc -l)
((made >= 3)) || fail "only $made tables are kept"
[[ $(stat -c %a "$XDG_CACHE_HOME/labelscope") == 700 ]] || fail "others may use the folder"

# All tables are there, so no worker is needed until addresses are named.
record_once second.jsonl
expect_said "$made unwind tables of an earlier recording"
(($(ends second.jsonl) == 0)) || fail "a stack of the second recording ends for want of a table"

for table in "$XDG_CACHE_HOME/labelscope/"*.table; do
  printf 'x' | dd of="$table" bs=1 seek=200 conv=notrunc status=none
done
record_once damaged.jsonl
expect_said "warning: $XDG_CACHE_HOME/labelscope/[0-9a-f]*.table: its checksum is wrong"
expect_said '0 unwind tables of an earlier recording'
record_once mended.jsonl
expect_said "$made unwind tables of an earlier recording"

record_once none.jsonl --unwind-cache none
expect_said 'unwind tables are not kept for the next recording: --unwind-cache none'
mkdir -m 0777 "$work/open" && chmod 0777 "$work/open"
record_once open.jsonl --unwind-cache "$work/open"
expect_said "not kept for the next recording: $work/open: others may write to it"
exit 0
