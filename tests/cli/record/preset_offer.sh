# Who records a server that publishes no labels learns which preset fits: its program, or a library of
# it. Nothing is offered of other programs, of those that publish labels, and with a preset.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling

record_it() {
  run record -d 1 -p "$target" --overwrite -o out.pb.gz "$@"
  expect_status "$exit_ok" "a recording of $target $*"
}

for server in redis-7.0:redis php-fpm:php-fpm mod-php:mod-php; do
  start_target "$PRESET_SERVERS/${server%:*}" --burn
  record_it
  expect_said "preset ${server#*:} fits .${server#*:}"
  if [[ $server == redis* ]]; then
    record_it --preset redis
    ! grep -q 'fits' "$work/stderr" || fail "a preset is offered beside the one that is used"
  fi
  stop_target
done
for server in redis-unknown php-cli mod-php-unknown; do
  start_target "$PRESET_SERVERS/$server" --burn
  record_it
  ! grep -q 'fits' "$work/stderr" || fail "a preset is offered for $server"
  stop_target
done
start_busy_target
record_it
! grep -q 'fits' "$work/stderr" || fail "a preset is offered for a shell"
