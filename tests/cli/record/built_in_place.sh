# Two builds of one program that are written to one file, the second over the first, with one build
# ID: neither gets names of the other one. Those of the first are found while it runs.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command cc
cat >program.c <<'EOC'
#include <stdlib.h>
#include <time.h>
volatile unsigned long turns;
__attribute__((noinline)) void WORK(int ms) {
  while (clock() < ms * (CLOCKS_PER_SEC / 1000)) turns++;
}
int main(int count, char** words) {
  WORK(count == 2 ? atoi(words[1]) : 0);
  turns++;
  return 0;
}
EOC
# Equal but for the name, as builds are that differ in a few bytes.
for name in first other; do
  cc -O1 -fno-pie -no-pie -DWORK="work_$name" -Wl,--build-id=0x0123456789abcdef -o "$name" program.c ||
    skip_test "no compiler"
done
[[ $(stat -c %s first) == $(stat -c %s other) ]] || fail "the builds have other sizes"

in_place() {
  run record --overwrite -o out.folded --group-by comm -- bash -c "
    cat first >program; chmod +x program; (exec -a one ./program $1)
    cat other >program; ln -sf program again; ./again $1"
  expect_status "$exit_ok" "a recording of two builds"
  # Processes are known by the name of the file that was executed.
  ! grep '^comm=program;' out.folded | grep work_other || fail "the first has names of the second"
  ! grep '^comm=again;' out.folded | grep work_first || fail "the second has names of the first"
  grep '^comm=again;' out.folded | grep -q work_other || need_more_time "the second has no samples"
  grep '^comm=program;' out.folded | grep -q work_first ||
    need_more_time "no names of the first were found before it was overwritten"
}
with_enough_time 1000 in_place

# Where it is written anew with the same bytes, all is known.
run record --overwrite -o out.folded -- bash -c \
  'cat first >program; ./program 300; cat first >program; ./program 300'
expect_status "$exit_ok" "a recording of one build twice"
! grep -q 'written anew' "$work/stderr" || fail "the same bytes are taken for others"
