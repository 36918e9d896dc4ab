# Processes of PostgreSQL without a client: parallel workers have the query and the numbers of their leader, and autovacuum
# workers a database, but neither user nor query. Their numbers have the names that sessions of the same recording have for
# them. Which process is which, and for whom, the server's log says.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/postgres.sh"
need_sampling
need_postgres pg_stat_statements
need_query_numbers
# The log has a line for each client and for each worker, with its process: see judge_workers.
start_postgres -c log_min_messages=debug1 -c log_connections=on -c log_line_prefix=%p, -c lc_messages=C \
  -c shared_preload_libraries=pg_stat_statements -c autovacuum=on -c autovacuum_naptime=1s \
  -c autovacuum_vacuum_cost_delay=0 -c autovacuum_vacuum_threshold=1 -c autovacuum_vacuum_scale_factor=0
as_admin 'create role alice superuser login' 'create role bob superuser login' 'create database shop' 'create database bank'
# The table of the parallel query never changes. The other one has dead rows all the time, whose vacuum takes a while because
# of its indexes.
sql -U alice -d shop -c "create table facts with (parallel_workers = 2, autovacuum_enabled = off) as
  select g id, md5(g::text) s from generate_series(1, 100000) g" || fail "no table"
sql -U bob -d bank -c "create table rows as select g id, md5(g::text) s, random() r from generate_series(1, 40000) g" \
  -c "create index on rows (id)" -c "create index on rows (s)" -c "create index on rows (r)" || fail "no table"
PGOPTIONS='-c max_parallel_workers_per_gather=2 -c parallel_setup_cost=0 -c parallel_tuple_cost=0 -c min_parallel_table_scan_size=0' \
  session alice shop leader "select count(*) from facts where md5(repeat(s, 100)) < '1';"
session bob bank updates "update rows set r = random() where id % 4 = 0;" 'select pg_sleep(0.5);'
wait_until "the sessions are there" has_backends alice leader

# This asks time and again, in one connection, which workers there are: kind, process, database.
for ((i = 0; i < 20000; i++)); do
  printf '%s\n' "select backend_type, pid, datid from pg_stat_activity where backend_type in ('parallel worker', 'autovacuum worker');" 'select pg_sleep(0.02);'
done >"$work/ask"
psql -h "$work/pg" -U postgres -AtqX -F ',' <"$work/ask" >"$work/workers" 2>"$work/psql.ask" &
children+=($!)
# Sessions that end leave their entries to workers that begin.
echo 'select 1;' >"$work/one.sql"
PGAPPNAME=churn "$bin/pgbench" -h "$work/pg" -U bob -n -C -R 20 -T 600 -f "$work/one.sql" shop >"$work/pgbench" 2>&1 &
children+=($!)

workers_of() { grep "^$1," "$work/workers" | sort -u | wc -l; }
have_worked() { (($(workers_of 'parallel worker') >= parallel && $(workers_of 'autovacuum worker') >= vacuums)) || is_gone "$recorder"; }
# record_workers <name> <preset> <parallel workers> <autovacuum workers>: records until so many more were there.
record_workers() {
  start record -p "$server" -F 997 --call-graph none --preset "$2" -o "$work/$1.jsonl"
  wait_until "labelscope records" has_begun_or_ended
  parallel=$(($(workers_of 'parallel worker') + $3)) vacuums=$(($(workers_of 'autovacuum worker') + $4))
  wait_until "workers work" have_worked
  kill -INT "$recorder" 2>/dev/null
  finish
  expect_status "$exit_ok" "record with $2"
  expect_ledger "$work/$1.jsonl"
}
query=$(sql -U postgres -c "select query_id from pg_stat_activity where application_name = 'leader' and backend_type = 'client backend'")
as_admin "select json_build_object('db', 'shop', 'user', 'alice', 'db_oid', (select oid::text from pg_database where datname = 'shop'), 'user_oid', 'alice'::regrole::oid::text,
  'role_oid', 'alice'::regrole::oid::text, 'application', 'leader', 'query_id', '$query')" >"$work/parallel.row"
# Nobody has a session in template1, so nobody knows its name. Those who ask the server are in postgres now and then.
as_admin "select json_object_agg(oid::text, datname) from pg_database" >"$work/databases"
mapfile -t owners < <(sql -U postgres -c "select oid from pg_roles where rolname in ('alice', 'bob')")
# judge_workers <recording>: counts in $work/judged how many samples of each kind of worker have all labels, some, none or
# wrong ones. The kernel uses numbers of processes again, so samples of a number that has had several owners are counted, and
# not judged. pg_stat_activity is not asked often enough to know all owners. The log is complete, but it has a parallel worker
# only when that has ended; those that work when the recording ends are in pg_stat_activity.
judge_workers() {
  PYTHONPATH=$SOURCE_DIR python3 -B - "$1" "$work/workers" "$work/server" "$work/parallel.row" "$work/databases" "${owners[@]}" >"$work/judged" <<'PYTHON'
import collections, json, re, sys
from planned_labels import Recording, has, read_rows
recording = Recording(sys.argv[1], ["wait_event"])
(parallel,) = read_rows(sys.argv[4])
(databases,) = read_rows(sys.argv[5])
oids = {name: oid for oid, name in databases.items()}
def vacuum(oid):
    # A table is vacuumed by the rights of its owner, everything else by those of the first user.
    row = {"db_oid": oid, "role_oid": ["10", *sys.argv[6:]]}
    return row | {"db": databases[oid]} if databases[oid] != "template1" else row
owners = collections.defaultdict(set)
for line in open(sys.argv[3]):
    if ended := re.search(r'"parallel worker" \(PID (\d+)\) exited', line):
        owners[int(ended[1])].add(("parallel worker", None))
    elif begun := re.match(r'(\d+),DEBUG: +autovacuum: processing database "(.*)"', line):
        owners[int(begun[1])].add(("autovacuum worker", oids[begun[2]]))
    elif begun := re.match(r"(\d+),LOG: +connection received", line):
        owners[int(begun[1])].add(("client", None))
for line in open(sys.argv[2]):
    if line.count(",") == 2:
        kind, pid, oid = line.strip().split(",")
        owners[int(pid)].add((kind, oid if kind == "autovacuum worker" else None))
pids = {thread["id"]: thread["pid"] for thread in recording.threads}
found, examples = collections.Counter(), {}
for sample in recording.samples:
    here = owners[pids[sample["thread"]]]
    if len(here) != 1:
        found["several_owners"] += sample["count"] if here else 0
        continue
    ((kind, oid),) = here
    if kind == "client":
        continue
    row = parallel if kind == "parallel worker" else vacuum(oid)
    labels = recording.labels(sample)
    what = "none" if not labels else "wrong" if not has(row, labels) else "right" if labels.keys() == row.keys() else "partly"
    found[what if what == "wrong" else f"{kind.split()[0]}_{what}"] += sample["count"]
    if what == "wrong": examples[kind] = {"labels": labels, "row": row}
    if "db" in labels: found[f"{kind.split()[0]}_named"] += sample["count"]
print(json.dumps({**found, "examples": examples}))
PYTHON
}
record_workers right postgres 8 8
judge_workers "$work/right.jsonl"
jq -e '.wrong == null' "$work/judged" >/dev/null || fail "a worker has labels of somebody else: $(cat "$work/judged")"
jq -e '.parallel_right > 500 and .parallel_right > 9 * (.parallel_partly + .parallel_none)' "$work/judged" >/dev/null ||
  fail "parallel workers have not the labels of their leader: $(cat "$work/judged")"
jq -e '.autovacuum_right > 50' "$work/judged" >/dev/null || fail "autovacuum workers have no database: $(cat "$work/judged")"
jq -e '.parallel_named > 500 and .autovacuum_named > 20' "$work/judged" >/dev/null ||
  fail "sessions know names of databases that workers have not: $(cat "$work/judged")"
learned=$(jq -s 'map(select(.type == "ledger"))[0].counters | map(select(.name == "labels-learned"))[0].count' "$work/right.jsonl")
((learned > 500)) || fail "the ledger has no labels whose names were learned: $learned"

# --- without the check that the entry is this process's, a worker begins with labels of a session that has ended
edit_preset postgres '/^need  be\+4/d'
record_workers wrong "$edited" 6 8
judge_workers "$work/wrong.jsonl"
jq -e '.wrong > 0' "$work/judged" >/dev/null || fail "the entry of a session that has ended is no wrong label: $(cat "$work/judged")"
