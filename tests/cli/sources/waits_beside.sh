# Waits of nginx, redis, and programs in Go and Java: how long they ran, were queued and waited is what
# the kernel's schedstat and their own accounts say. What perf and bpftrace say of the same seconds is
# shown beside.
source "${BASH_SOURCE%/*}/../lib.sh"
need_waits
need_command python3
python3 -B "$SOURCE_DIR/../bench/waits_beside.py" --labelscope "$LABELSCOPE" --seconds "$(rounds 2 10)" \
  --check >"$work/stdout" 2>"$work/stderr"
case $? in
  0) cat "$work/stdout" ;;
  77) skip_test "none of the programs is installed: $(grep -o 'without .*' "$work/stdout" | paste -sd ';')" ;;
  *) fail "labelscope and the programs' own accounts differ" ;;
esac
