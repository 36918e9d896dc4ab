# A PostgreSQL of a test's own (sourced after lib.sh): it listens on a socket in the test's folder
# alone, and ends with the test. PostgreSQL does not run as root, so root runs it as the user
# postgres.
# shellcheck shell=bash
source "$SOURCE_DIR/servers.sh"

# need_postgres <extension...>: skips the test if the server, a program or an extension is missing.
# The server's programs are in $bin, and $version is its major version.
need_postgres() {
  local bins each
  shopt -s nullglob
  bins=(/usr/lib/postgresql/1[3-8]/bin)
  shopt -u nullglob
  ((${#bins[@]})) || skip_test "no PostgreSQL 13 to 18 is installed (package postgresql)"
  bin=${bins[-1]}
  version=${bin%/bin} version=${version##*/}
  for each in psql pgbench jq python3; do need_command "$each"; done
  for each in "$@"; do
    [[ -e ${bin%/bin}/lib/$each.so ]] || skip_test "PostgreSQL has no $each (package $(package_of "$each"))"
  done
  as=()
  ((EUID != 0)) || { id postgres >/dev/null 2>&1 && as=(setpriv --reuid=postgres --regid=postgres --init-groups); } ||
    skip_test "root needs the user postgres to run the server"
}
# The server numbers statements since this version.
need_query_numbers() { ((version >= 14)) || skip_test "PostgreSQL $version has no numbers of queries"; }
package_of() {
  case $1 in
    pg_stat_kcache) echo "postgresql-$version-pg-stat-kcache" ;;
    *) echo "postgresql-$version" ;;
  esac
}

# own_folder <name>: makes $work/<name>, in which the server's user may write.
own_folder() {
  if ((EUID == 0)); then
    chmod 755 "$work"
    install -d -o postgres "$work/$1"
  else
    mkdir "$work/$1"
  fi
}

# start_postgres <option...>: starts the server with these options of postgres, and waits until it
# answers. $server is the postmaster's pid. Without autovacuum and parallel workers nothing runs but
# what the test has started; a test that wants them says so.
start_postgres() {
  own_folder pg
  cd "$work/pg" || exit 1
  "${as[@]}" "$bin/initdb" -D "$work/pg/data" -A trust -U postgres >"$work/initdb" 2>&1 || fail "initdb: $(tail -n 3 "$work/initdb")"
  "${as[@]}" "$bin/postgres" -D "$work/pg/data" -k "$work/pg" -h '' -F -c autovacuum=off \
    -c max_parallel_workers_per_gather=0 "$@" >"$work/server" 2>&1 &
  children+=($!)
  trap end_postgres EXIT
  wait_until "the server answers" "$bin/pg_isready" -q -h "$work/pg"
  server=$(head -n 1 "$work/pg/data/postmaster.pid")
  cd "$work/out" || exit 1
}
end_postgres() {
  [[ -z ${server:-} ]] || { kill -INT "$server" 2>/dev/null && wait_until "the server ends" is_gone "$server"; }
  end_test
}

sql() { psql -h "$work/pg" -AtqX -v ON_ERROR_STOP=1 "$@"; }
# as_admin <command...>: each command is an SQL statement, and must succeed.
as_admin() {
  local each commands=()
  for each in "$@"; do commands+=(-c "$each"); done
  sql -U postgres "${commands[@]}" || fail "the server refuses: $*"
}

# session <user> <database> <application> <statement...>: repeats the statements in one connection
# until the test ends.
session() {
  local each lines=''
  for each in "${@:4}"; do lines+=${lines:+$'\n'}$each; done
  PGAPPNAME=$3 psql -h "$work/pg" -U "$1" -d "$2" -AtqX >/dev/null 2>"$work/psql.$1.$3" < <(exec yes "$lines") &
  children+=($!)
}
# Prints the processes of a user's sessions: backends <user> [application].
backends() {
  sql -U postgres -c "select pid from pg_stat_activity where backend_type = 'client backend' and usename = '$1' and application_name like '${2:-%}'"
}
has_backends() { (($(backends "$1" "${2:-%}" | wc -l) >= ${3:-1})); }

# The kernel's account of the sessions: run_times prints how long each has had a processor so far, in
# nanoseconds, and session_account makes an account (planned_labels.py) of what is in $work/before and
# $work/after.
run_times() {
  local who pid run_time
  while read -r who pid; do
    run_time_of "$pid"
    echo "$who $run_time"
  done < <(sql -U postgres -F ' ' -c "select usename || ':' || datname || ':' || application_name, pid from pg_stat_activity
    where usename <> 'postgres'")
}
session_account() {
  join -j 1 <(sort "$work/before") <(sort "$work/after") | awk '{ split($1, who, ":")
    printf "{\"time\":%.0f,\"labels\":{\"user\":\"%s\",\"db\":\"%s\",\"application\":\"%s\"}}\n", $3 - $2, who[1], who[2], who[3] }' >"$work/sessions"
}
