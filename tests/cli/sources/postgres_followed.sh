# `record -p POSTMASTER` follows the backends: those that are there already, those that begin later, and each from its first
# sample on, because the kernel copies what it reads of a process when it forks.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/postgres.sh"
need_sampling
need_postgres
start_postgres -c max_connections=20 -c shared_buffers=1MB
as_admin 'create role old superuser login' 'create role new superuser login' 'create role churn superuser login' \
  'create table t as select g id, md5(g::text) s from generate_series(1, 2000) g'
statement='select count(*) from t a join t b on a.s > b.s and b.id < 20;'

# --- a backend of before, and one of after
session old postgres early "$statement"
wait_until "a session is there" has_backends old
start record -p "$server" -F 499 --call-graph none --preset postgres -o "$work/followed.jsonl"
wait_until "labelscope records" has_begun_or_ended
session new postgres late "$statement"
wait_until "another session is there" has_backends new
for target in $(backends old) $(backends new); do
  wait_until "a backend computes" has_run_or_ended $(($(cpu_ticks "$target") + 60))
done
old=$(backends old) new=$(backends new)
kill -INT "$recorder" 2>/dev/null
finish
expect_status "$exit_ok" "record of the postmaster"
expect_ledger "$work/followed.jsonl"
# labelled <pid> <labels>: how many samples of this process have these labels, how many have another value of one of them,
# and how many there are.
labelled() {
  jq -sr --argjson pid "$1" --argjson wanted "$2" '([.[] | select(.type == "thread" and .pid == $pid) | .id]) as $threads
    | ([.[] | select(.type == "labels") | .labels | map({key, value}) | from_entries
        | {right: (. as $set | $wanted | to_entries | all($set[.key] == .value)),
           wrong: (. as $set | $wanted | to_entries | any($set[.key] != null and $set[.key] != .value))}]) as $judged
    | [.[] | select(.type == "sample") | select(.thread as $one | $threads | index($one)) | {count} + $judged[.labels]]
    | "\(map(select(.right).count) | add // 0) \(map(select(.wrong).count) | add // 0) \(map(.count) | add // 0)"' "$work/followed.jsonl"
}
read -r right wrong all < <(labelled "$old" '{"db":"postgres","user":"old","application":"early"}')
# A sample while the entry is being written has none.
((right >= all - 5 && wrong == 0 && right >= 200)) || fail "of $all samples of the backend of before, $right have its labels, $wrong others"
# Before it knows its own name, it has an entry of somebody else or none.
read -r right wrong all < <(labelled "$new" '{"db":"postgres","user":"new","application":"late"}')
((right >= all - 50 && wrong == 0 && right >= 200)) || fail "of $all samples of the new backend, $right have its labels, $wrong others"

# --- from the first sample on: the number of the server's port is there before and after a fork
cat >"$work/port.preset" <<'PRESET'
preset port 1
match  MyBEEntry PostPortNumber
variant any when PostPortNumber.size == 4 set none=0
label port = PostPortNumber:u32
PRESET
echo 'select 1;' >"$work/one.sql"
for each in 1 2; do
  "$bin/pgbench" -h "$work/pg" -U churn -n -C -c 1 -T 600 -f "$work/one.sql" postgres >"$work/pgbench.$each" 2>&1 &
  children+=($!)
done
sessions() { sql -U postgres -c "select sum(sessions) from pg_stat_database"; }
have_begun() { (($(sessions) >= $1)); }
# The kernel's account of all children that have ended, in ticks of 10 ms (fields 16 and 17).
ended_children() { sed 's/.*) //' "/proc/$server/stat" | awk '{ print $14 + $15 }'; }
start record -p "$server" -F 997 --preset "$work/port.preset" -o "$work/first.jsonl"
wait_until "labelscope records" has_begun_or_ended
before=$(ended_children) begun=$(sessions)
wait_until "sessions begin and end" have_begun $((begun + $(rounds 500 5000)))
ticks=$(($(ended_children) - before))
kill -INT "$recorder" 2>/dev/null
finish
expect_status "$exit_ok" "record of short backends"
expect_ledger "$work/first.jsonl"
# While the kernel frees the memory of a process that has ended, there are no labels. Now and then the
# kernel does not come beyond the first frame of its own stack, so that it shows no end of a process. A
# process whose fork the kernel did not announce has no recipe at its first sample, and is counted.
jq -se '([.[] | select(.type == "location" and any(.lines[]; .function == "do_exit")) | .id]) as $exits
  | (reduce (.[] | select(.type == "stack")) as $one ({}; .[$one.id | tostring] = (($one.locations | length) == 1 and $one.end == "missing"
      or any($one.locations[]; . as $each | $exits | index($each))))) as $ends
  | .[0].outcomes as $outcomes
  | ([.[] | select(.type == "ledger") | .counters[] | select(.name == "forks-not-seen") | .count] | add // 0) as $unseen
  | [.[] | select(.type == "sample") | select($outcomes[.outcome] != "labelled") | {outcome: $outcomes[.outcome], ends: $ends[.stack | tostring]}]
  | ([.[] | select(.outcome == "not-relocated")] | length) <= $unseen
    and all(.outcome == "not-relocated" or (.outcome == "unlabelled" and .ends))' "$work/first.jsonl" >/dev/null || fail "a backend that has not ended has a sample without the label"
# Most of these processes have ended before anybody can plan for them, so their samples would be missing.
samples=$(jq -s --argjson server "$server" '([.[] | select(.type == "thread" and .pid == $server) | .id]) as $own
  | [.[] | select(.type == "sample") | select(.thread as $one | $own | index($one) | not) | .count] | add' "$work/first.jsonl")
((samples >= ticks * 10 * 6 / 10)) || fail "$samples samples of $((ticks * 10)) ms of CPU time: children are seen late"
