# CPU time of a stock PostgreSQL by query, database and application: the labels of its backends are what the load has
# planned, never others, and the shares are those of pg_stat_statements.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/postgres.sh"
need_postgres pg_stat_statements
start_postgres -c shared_preload_libraries=pg_stat_statements -c pg_stat_statements.track_planning=on
sql -U postgres -c 'create extension pg_stat_statements' -c 'create role alice superuser login' -c 'create role bob superuser login' \
  -c 'create role worker' -c 'create database shop' -c 'create database bank' || fail "the load cannot be prepared"
for database in shop bank; do
  sql -U postgres -d "$database" -c "create table t as select g id, md5(g::text) s from generate_series(1, 4000) g" || fail "no table"
done

# Few rows are sent, so that a backend computes for most of its time.
statement="select count(*) from t a join t b on a.s > b.s and b.id < 60"
session alice shop web "$statement where a.id > 0;"
session alice shop batch "select sum(length(a.s || b.s)) from t a join t b on b.id < 90;"
session bob bank web "$statement where a.id > 1;"
# Connections that begin and end all the time take over entries that other sessions have left.
churn() {
  echo 'select 1;' >"$work/churn.sql"
  PGAPPNAME=churn "$bin/pgbench" -h "$work/pg" -U bob -n -C -c 2 -T 600 -f "$work/churn.sql" shop >"$work/pgbench" 2>&1 &
  children+=($!)
}

# --- what the preset says now, and about whom
wait_until "bob's backend is there" has_backends bob web
run dump --json -p "$(backends bob web)" --preset postgres
expect_status "$exit_ok" "dump of a backend"
labels=$(jq -r '.threads[0].labels[] | "\(.key)=\(.value)"' "$work/stdout" | grep -E '^(db|user|application|db_oid)=' | sort | paste -sd' ')
oid=$(sql -U postgres -c "select oid from pg_database where datname = 'bank'")
[[ $labels == "application=web db=bank db_oid=$oid user=bob" ]] || fail "the backend of bob has: $labels"

# --- private labels only when they are named, and then without numbers
! grep -q '"query"' "$work/stdout" || fail "the text of a query was read and nobody has named it"
PGAPPNAME=sleeper psql -h "$work/pg" -U alice -d shop -AtqX -c "set role worker" -c "select pg_sleep(600), 'secret'" >/dev/null 2>&1 &
children+=($!)
wait_until "the sleeper runs" has_backends alice sleeper
sleeps() { [[ $(sql -U postgres -c "select wait_event from pg_stat_activity where application_name = 'sleeper'") == PgSleep ]]; }
wait_until "the sleeper sleeps" sleeps
run dump --json -p "$(backends alice sleeper)" --preset postgres --preset-label query,title
label() { jq -r --arg key "$1" '.threads[0].labels[] | select(.key == $key) | .value' "$work/stdout"; }
[[ $(label query) == 'select pg_sleep(?), ?' ]] || fail "the query is: $(label query)"
[[ $(label title) == "postgres: alice shop [local] SELECT" ]] || fail "the title is: $(label title)"
[[ $(label wait_event) == Timeout ]] || fail "it waits for: $(label wait_event)"
# SET ROLE changes by whose rights a statement runs, and not who has connected.
role=$(sql -U postgres -c "select 'worker'::regrole::oid")
[[ $(label user) == alice && $(label role_oid) == "$role" ]] || fail "user $(label user), role $(label role_oid), not alice and $role"
# pg_stat_activity has the number of the same statement.
[[ $(label query_id) == "$(sql -U postgres -c "select query_id from pg_stat_activity where application_name = 'sleeper'")" ]] ||
  fail "query_id is $(label query_id)"

# --- a parallel worker has its leader's query and numbers, and no connection of its own
mode=debug_parallel_query
[[ $(sql -U postgres -c "select count(*) from pg_settings where name = '$mode'") == 1 ]] || mode=force_parallel_mode
PGOPTIONS="-c $mode=on -c max_parallel_workers_per_gather=2" PGAPPNAME=leader \
  psql -h "$work/pg" -U bob -d bank -AtqX -c "select pg_sleep(600), count(*) from t" >/dev/null 2>&1 &
children+=($!)
worker_of() { sql -U postgres -c "select w.pid from pg_stat_activity w join pg_stat_activity l on l.pid = w.leader_pid
  where l.application_name = 'leader' and w.backend_type = 'parallel worker' and w.wait_event = 'PgSleep'"; }
has_worker() { [[ -n $(worker_of) ]]; }
wait_until "a parallel worker sleeps" has_worker
run dump --json -p "$(worker_of)" --preset postgres
[[ $(label query_id) == "$(sql -U postgres -c "select query_id from pg_stat_activity where application_name = 'leader' and leader_pid is null")" ]] ||
  fail "the worker's query_id is $(label query_id)"
[[ $(label db_oid) == "$oid" && $(label application) == leader && -z $(label db)$(label user) ]] ||
  fail "the worker has db_oid $(label db_oid), application $(label application), db $(label db), user $(label user)"

# --- the postmaster has no entry: not of this process, and said so
run dump -p "$server" --preset postgres --explain
expect_shown 'has no entry'

# expect_recorded <backend>: the shares of the three statements, and no label that cannot be.
expect_recorded() {
  sql -U postgres -c 'select pg_stat_statements_reset()' >/dev/null
  start record -p "$server" --backend "$1" -F 199 --preset postgres -o "$work/$1.jsonl"
  wait_until "labelscope records" has_begun_or_ended
  for target in $(sql -U postgres -c "select pid from pg_stat_activity where application_name in ('web', 'batch')"); do
    wait_until "a backend computes" has_run_or_ended $(($(cpu_ticks "$target") + 100))
  done
  # The account of the same time.
  sql -U postgres -F ' ' -c "select queryid, userid, dbid, total_exec_time + total_plan_time from pg_stat_statements where calls > 0" >"$work/account"
  kill -INT "$recorder" 2>/dev/null
  finish
  expect_status "$exit_ok" "record by $1"
  expect_ledger "$work/$1.jsonl"
  python3 - "$work/$1.jsonl" "$work/account" <<'PYTHON' || fail "record by $1"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
sets = {l["id"]: {x["key"]: x["value"] for x in l["labels"]} for l in lines if l["type"] == "labels"}
# Who may have which application; psql of the test itself is the third.
planned = {"web": {("alice", "shop"), ("bob", "bank")}, "batch": {("alice", "shop")}, "churn": {("bob", "shop")},
           "sleeper": {("alice", "shop")}, "leader": {("bob", "bank")}, "psql": {("postgres", "postgres"), ("postgres", "shop"), ("postgres", "bank")}}
account = {}
for line in open(sys.argv[2]):
    query, user, database, time = line.split()
    account[query] = float(time)
counts = {}
busy = idless = 0
for sample in (line for line in lines if line["type"] == "sample"):
    labels = sets[sample["labels"]]
    application, who = labels.get("application"), (labels.get("user"), labels.get("db"))
    # A session that begins has no application yet, and a process of the server itself has no user.
    if application is not None and None not in who and who not in planned.get(application, ()):
        sys.exit(f"no connection of {who} has the application {application}")
    if application not in ("web", "batch"): continue
    busy += 1
    if "query_id" not in labels:
        idless += 1
        continue
    counts[labels["query_id"]] = counts.get(labels["query_id"], 0) + 1
if busy < 150: sys.exit(f"only {busy} samples of the load")
if idless > busy / 5: sys.exit(f"{idless} of {busy} samples have no query")
total = sum(counts.values())
unknown = set(counts) - set(account)
if unknown: sys.exit(f"queries that pg_stat_statements does not know: {unknown}")
# Each backend computes all the time: shares of CPU time and of time differ by who gets a processor, so they are compared
# within ten points; the numbers of the samples say whether that is wide enough.
time = sum(account[query] for query in counts)
for query, count in counts.items():
    here, there = count / total, account[query] / time
    if abs(here - there) > 0.1 + 3 * (here * (1 - here) / total) ** 0.5:
        sys.exit(f"query {query}: {here:.3f} of the samples, {there:.3f} of the server's time")
if len(counts) != 3: sys.exit(f"{len(counts)} queries, not 3: {counts}")
PYTHON
}
expect_recorded ptrace
churn
if (need_sampling >/dev/null); then expect_recorded bpf; fi
