# The program of a preset has the addresses of a program's variables in it, so each program that was
# executed has its own. There is room for those of as many processes as are recorded.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
many=140
for ((i = 1; i < many; ++i)); do
  (exec -a "job $i" sleep 1000) &
  targets+=("$!")
done
(exec -a "the busy job" "$SPINNER") >"$work/said" &
targets+=("$!")
children+=("${targets[@]}")
all_run() {
  local pid
  for pid in "${targets[@]}"; do
    grep -qa job "/proc/$pid/cmdline" || return 1
  done
}
wait_until "all programs have begun" all_run
run record -p "$(IFS=, && echo "${targets[*]}")" -d 300ms -F 999 --preset title --summary title \
  -o titles.folded
expect_status "$exit_ok" "a recording of $many programs, each with a preset's program of its own"
expect_shown '^the busy job +100\.0%'

# --- nothing else is known of a program: auto takes the title, and without a preset it is named
(exec -a "a job of a shell" bash -c 'while :; do :; done') &
plain=$!
children+=("$plain")
has_title() { grep -qa "a job" "/proc/$plain/cmdline"; }
wait_until "the shell has its title" has_title
run record -p "$plain" -d 300ms -F 999 --preset auto --summary title -o auto.folded
expect_status "$exit_ok" "auto"
expect_shown '^a job of a shell +100\.0%'
run record -p "$plain" -d 300ms -F 999 -o none.folded
expect_said "^  --preset title: process $plain calls itself \"a job of a shell\""
# Where a program publishes labels, its title gives way.
run record -p "${targets[-1]}" -d 300ms -F 999 --preset auto --summary spinner -o labels.folded
! grep -q 'preset title' "$work/stderr" || fail "the title beside labels: $(<"$work/stderr")"
