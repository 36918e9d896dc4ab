# scripts/demo_postgres.sh in short form: its tables and its page have the applications and databases of
# its load, and queries by their text and not by their number; and nothing of it is left.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command node
mark_processes  # all that the demo starts
"$SOURCE_DIR/../../scripts/demo_postgres.sh" --duration 4 --output "$work/out" >"$work/stdout" 2>"$work/stderr"
status=$?
((status != 77)) || skip_test "$(tail -n 1 "$work/stderr")"
expect_status 0 "the demo"
for value in web reports shop bank; do expect_shown "^ *$value "; done
# The report is the heaviest query of each account: ours is of CPU time, the server's of time.
report='select customer, count\(\*\), sum\(price\)'
# A text that is longer than its column has its numbers on the next line.
grep -A 1 -E "^ *$report" "$work/stdout" | grep -q '%' || fail "the heaviest query has no share"
grep -qE "%  *$report" "$work/stdout" || fail "the server's account has no such query"
grep -qE '^ *-?[0-9]{10,} ' "$work/stdout" && fail "a query has no name"
node "$SOURCE_DIR/../page/read_page.mjs" postgres.html >"$work/page" || fail "the page cannot be read"
grep -q 'select customer, count' "$work/page" || fail "the page has no query by its text"
# The server, its sessions and their load end with the demo.
for program in /usr/lib/postgresql/*/bin/{postgres,pgbench}; do
  wait_until "$program of the demo ends" none_runs "$program"
done
