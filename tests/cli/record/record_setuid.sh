# A set-user-ID program belongs to its file's owner. A user that records it gets that message, and
# not one about a waiting kernel.
source "${BASH_SOURCE%/*}/../lib.sh"
((EUID == 0)) || skip_test "a set-user-ID program of root needs root to be made"
mountpoint=$(df --output=target "$work" | tail -n 1)
! findmnt -no OPTIONS --target "$mountpoint" | grep -qw nosuid ||
  skip_test "$mountpoint ignores set-user-ID"
need_other_user
cat >"$work/busy.c" <<'EOF'
static volatile unsigned long turns;
int main(void) {
  for (unsigned long i = 0; i < 1000000000UL; i++) turns++;
  return 0;
}
EOF
cc -O1 -o "$work/busy" "$work/busy.c" || skip_test "no compiler"
chmod 4755 "$work/busy"
"${drop[@]}" timeout --signal=KILL 60 "$work/labelscope" record -o setuid.pb.gz -- "$work/busy" \
  >"$work/stdout" 2>"$work/stderr" </dev/null
expect_said 'set-user-ID'
! grep -q 'did not stop in time' "$work/stderr" || fail "the kernel is blamed"
