#!/usr/bin/env bash
# This shows where the CPU time of a stock PostgreSQL goes, by application, database and query, next to
# what pg_stat_statements says of the same time. It starts a server of its own in a temporary folder, as
# a user without rights, with a load of two tenants and three applications, records it from outside,
# and ends it. Nothing is installed in the server, which publishes no labels.
#
#   scripts/demo_postgres.sh [--duration SECONDS] [--output FOLDER]
#
# It needs PostgreSQL 14 to 18 with contrib (Debian: postgresql) and labelscope, which is $LABELSCOPE,
# or what another script here has built, or an installed one. Tables go to stdout, all
# else to stderr; files to FOLDER, by default build/recordings/<UTC>. Exit status 77: there is no server.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

seconds=30 output=''
while (($# > 0)); do
  case $1 in
    --duration) seconds=${2:-} && shift ;;
    --output) output=${2:-} && shift ;;
    -h | --help) usage; exit 0 ;;
    *) printf 'demo_postgres.sh: unknown option: %s\n' "$1" >&2; exit 2 ;;
  esac
  shift || break  # an option without its value
done
[[ $seconds =~ ^[1-9][0-9]{0,3}$ ]] || { printf 'demo_postgres.sh: --duration is a number of seconds\n' >&2; exit 2; }
can_be_root || die "recording another user's processes needs root, and there is no sudo here that gives it: run this as root"

find_labelscope() {
  local each
  for each in "${LABELSCOPE:-}" "$(latest_build)/cli/labelscope" "$(command -v labelscope || true)"; do
    [[ -x $each ]] && { echo "$each"; return; }
  done
  die "there is no labelscope: scripts/demo.sh builds it, or name one in LABELSCOPE"
}
labelscope=$(find_labelscope)

shopt -s nullglob
bins=(/usr/lib/postgresql/1[4-8]/bin /usr/pgsql-1[4-8]/bin)
((${#bins[@]})) || skip "no PostgreSQL 14 to 18 is installed: apt-get install postgresql"
readonly bin=${bins[-1]}
for program in initdb postgres pgbench psql; do
  [[ -x $bin/$program ]] || skip "$bin has no $program: apt-get install postgresql postgresql-client"
done
[[ -e $("$bin/pg_config" --pkglibdir 2>/dev/null || echo "${bin%/bin}/lib")/pg_stat_statements.so ]] ||
  skip "the server has no pg_stat_statements: apt-get install postgresql-contrib"

# PostgreSQL does not run as root.
as=()
if ((EUID == 0)); then
  id postgres >/dev/null 2>&1 || skip "root needs the user postgres to run the server"
  as=(runuser -u postgres --)
fi

work=$(mktemp -d)
loads=() server=''
# Whatever ends this script also ends the load and the server, and removes their files.
end_demo() {
  local each
  for each in ${loads[@]+"${loads[@]}"}; do kill "$each" 2>/dev/null || true; done
  if [[ -n $server ]]; then
    # A fast shutdown ends all sessions; the shell's child may be runuser, which waits for the server.
    "${as[@]}" "$bin/pg_ctl" -D "$work/pg/data" stop -m fast -t 30 >/dev/null 2>&1 || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap end_demo EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

if ((EUID == 0)); then
  chmod 755 "$work"
  install -d -o postgres "$work/pg"
else
  mkdir "$work/pg"
fi
cd "$work/pg"
say "Starting a PostgreSQL of its own: $("$bin/postgres" --version)"
"${as[@]}" "$bin/initdb" -D "$work/pg/data" -A trust -U postgres >"$work/initdb" 2>&1 ||
  die "initdb failed: $(tail -n 3 "$work/initdb")"
"${as[@]}" "$bin/postgres" -D "$work/pg/data" -k "$work/pg" -h '' -F \
  -c shared_preload_libraries=pg_stat_statements -c pg_stat_statements.track_planning=on >"$work/server" 2>&1 &
server=$!
sql() { "$bin/psql" -h "$work/pg" -AtqX -v ON_ERROR_STOP=1 "$@"; }
for ((attempt = 0; attempt < 1500; attempt++)); do
  "$bin/pg_isready" -q -h "$work/pg" && break
  kill -0 "$server" 2>/dev/null || die "the server ended before it was ready: $(tail -n 3 "$work/server")"
  sleep 0.02
done
"$bin/pg_isready" -q -h "$work/pg" || die "the server was not ready after thirty seconds"

sql -U postgres -c 'create extension pg_stat_statements' -c 'create role acme login' -c 'create role globex login' \
  -c 'create database shop owner acme' -c 'create database bank owner globex'
sql -U acme -d shop -c 'create table orders as select id, id % 500 as customer, md5(id::text) as item, random() as price
  from generate_series(1, 40000) id' -c 'create index on orders (customer)' -c 'analyze orders'
sql -U globex -d bank -c 'create table accounts as select id, random() * 1000 as amount from generate_series(1, 20000) id' \
  -c 'create unique index on accounts (id)' -c 'analyze accounts'

# load <user> <database> <application> <clients>: runs the statements of stdin again and again.
load() {
  cat >"$work/$1.$3.sql"
  PGAPPNAME=$3 "$bin/pgbench" -h "$work/pg" -U "$1" -n -M prepared -c "$4" -T $((seconds + 120)) -f "$work/$1.$3.sql" "$2" \
    >"$work/$1.$3.said" 2>&1 &
  loads+=($!)
}
load acme shop web 2 <<'SQL'
\set customer random(0, 499)
select item, price from orders where customer = :customer order by price desc limit 10;
SQL
load acme shop reports 1 <<'SQL'
select customer, count(*), sum(price) from orders group by customer order by 3 desc;
\sleep 30 ms
SQL
load globex bank web 1 <<'SQL'
\set one random(1, 20000)
\set other random(1, 20000)
update accounts set amount = amount + 1 where id = :one;
select amount from accounts where id = :other;
SQL
load globex bank audit 1 <<'SQL'
select count(*) from accounts where md5(amount::text) like '00%';
\sleep 100 ms
SQL
sessions() { sql -U postgres -c "select count(*) from pg_stat_activity where application_name in ('web', 'reports', 'audit')"; }
for ((attempt = 0; attempt < 500; attempt++)); do
  (($(sessions) >= 5)) && break
  sleep 0.02
done
(($(sessions) >= 5)) || die "the load did not begin: $(cat "$work"/*.said)"

output=${output:-$root_dir/build/recordings/$(date -u +%Y%m%dT%H%M%SZ)-$$}
mkdir -p "$output"
postmaster=$(head -n 1 "$work/pg/data/postmaster.pid")
sql -U postgres -c 'select pg_stat_statements_reset()' >/dev/null
say "Recording it for $seconds seconds: labelscope record -p $postmaster -d ${seconds}s --preset postgres" \
  "--summary application,db,query_id"
status=0
as_root "$labelscope" record -p "$postmaster" -d "${seconds}s" --preset postgres -o "$output/postgres.jsonl" || status=$?
give_back "$output"
((status == 0)) || { warn "labelscope record ended with status $status; its message is above"; exit "$status"; }

# The server knows what its numbers mean, and is asked when the recording is over.
account='select queryid, total_exec_time + total_plan_time as time, query from pg_stat_statements s
  join pg_roles r on r.oid = s.userid where toplevel and rolname in ($$acme$$, $$globex$$)'
sql -U postgres -F $'\t' -c "select queryid, query from ($account) a" >"$output/names"
sql -U postgres -F $'\t' -c "select to_char(100 * time / sum(time) over (), '990.9'), queryid
  from ($account) a order by time desc limit 8" >"$output/account"

say "Names of queries: labelscope report postgres.jsonl --names query_id=names --summary application,db,query_id"
"$labelscope" report -q "$output/postgres.jsonl" --names "query_id=$output/names" --summary application,db,query_id \
  --group-by query_id -o "$output/postgres.html"

printf '\npg_stat_statements, for the same time: what statements took, waiting included\n'
awk -F '\t' 'NR == FNR { name[$1] = $2; next } { printf "%7s %%  %s\n", $1, substr(name[$2], 1, 90) }' \
  "$output/names" "$output/account"
{
  printf '\nOpen this page in a browser:\n  %s\n' "$output/postgres.html"
} >&2
