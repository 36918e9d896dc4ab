# The presets against the distribution's packages of both processors, which are not run: each fits the
# file of its server, by symbols and decoded accessors, and its numbers are those of the server's headers.
source "${BASH_SOURCE%/*}/../lib.sh"
scripts=$SOURCE_DIR/../../scripts presets=$SOURCE_DIR/../../reader/presets
packages=(postgresql-15 redis-tools mariadb-server-core php8.2-fpm libapache2-mod-php8.2 haproxy
  postgresql-server-dev-15 php8.2-dev libssl-dev krb5-multidev)
need_command gcc

# expect_fit <file> <what inspect says>
expect_fit() {
  run inspect "$root/$1"
  expect_status "$exit_error" "inspect of $1, which publishes nothing"
  expect_shown "preset +$2"
}
# expect_lines <preset> <line>...: the preset has these lines, but for what stands behind them.
expect_lines() {
  local line
  for line in "${@:2}"; do
    tr -s ' ' <"$presets/$1.preset" | grep -qF -- "$line" || fail "$architecture: $1.preset has no line with: $line"
  done
}
# numbers <server>: the headers' numbers into $number.
numbers() {
  local name value
  number=()
  "$scripts/presets/numbers.sh" "$1" "$root" "$compiler" >"$work/numbers" 2>"$work/stderr" || fail "no numbers of $1"
  while read -r name value; do number[$name]=$value; done <"$work/numbers"
  ((${#number[@]})) || fail "no numbers of $1"
}

declare -A number
for machine in amd64:x86-64:x86_64-linux-gnu-gcc arm64:aarch64:aarch64-linux-gnu-gcc; do
  IFS=: read -r architecture processor compiler <<<"$machine"
  need_command "$compiler"
  files=$("$scripts/debian_packages.sh" fetch "$architecture" bookworm "${packages[@]}" 2>"$work/stderr")
  status=$?
  ((status != 77)) || skip_test "$(tail -n 1 "$work/stderr")"
  ((status == 0)) || fail "the packages of $architecture cannot be loaded"
  root=$work/$architecture
  mkdir "$root"
  while read -r file; do
    dpkg-deb -x "$file" "$root" || fail "$file cannot be unpacked"
  done <<<"$files"

  expect_fit usr/lib/postgresql/15/bin/postgres 'postgres 14-16 fits'
  expect_fit usr/bin/redis-check-rdb 'redis 7\.0\.6-15 fits'
  expect_fit usr/sbin/mariadbd 'mariadb fits'
  expect_fit usr/sbin/php-fpm8.2 "php-fpm $processor fits"
  expect_fit usr/lib/apache2/modules/libphp8.2.so "mod-php $processor fits"
  expect_fit usr/sbin/haproxy 'haproxy 2\.6 fits'

  numbers postgres
  be() { echo "be+${number[be.$1]}:$2"; }
  running="$(be state u32) == \$running"
  expect_lines postgres "need $(be procpid u32) == MyProcPid:u32" "need $(be changecount u32) even" \
    "label application = $(be appname cstr)" "label db_oid = $(be databaseid u32)" "label user_oid = $(be userid u32)" \
    "if $running unless 0" "private query = $(be activity cstr) fingerprint if $running" \
    "variant 14-16 when pgstat_report_query_id !MyClientSocket set running=${number[running]} query=${number[query]} db=${number[db]} user=${number[user]}"
  numbers php
  for preset in php-fpm mod-php; do
    expect_lines "$preset" "variant $processor when sapi_globals.size == ${number[sapi_globals.size]} set started=${number[started]}" \
      "sapi_globals+${number[path]}:u64 != 0" "label script = sapi_globals+${number[path]}:cstr" \
      "label method = sapi_globals+${number[method]}:cstr"
  done
  # Both routes begin at the server's context, which is the first member.
  ((number[context] == 0)) || fail "$architecture: server_context is at ${number[context]}"
done
