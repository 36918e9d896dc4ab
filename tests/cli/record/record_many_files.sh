# A process that maps more files than labelscope may open does not take them from another one, whose
# labels and names are there. If there is no descriptor at all, the message names the limit.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_command jq
mkdir "$work/many"
mkfifo "$work/mapper_stdin"
"$MAPPER" many 6000 "$work/many" <"$work/mapper_stdin" >"$work/mapper_said" &
mapper=$!
children+=("$mapper")
exec 7>"$work/mapper_stdin"
wait_until "6,000 files are mapped" grep -qs ready "$work/mapper_said"
copy_of_crowd=$work/labelled
cp "$CROWD" "$copy_of_crowd"
start_target "$copy_of_crowd" --threads 2 --stay burn
tids=$(true_tids | jq -s .)

# with_files <limit> <argument...>: runs labelscope like run(), with this hard limit on open files.
with_files() {
  local limit=$1
  shift
  (ulimit -Sn "$limit" && ulimit -Hn "$limit" && exec timeout --signal=KILL 90 "$LABELSCOPE" "$@") \
    >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
}
check_backend() {
  rm -f out.jsonl
  (ulimit -Sn 1024 && ulimit -Hn 1024 &&
    exec env --default-signal=INT "$LABELSCOPE" record --backend "$1" -F 199 \
    -p "$mapper,$target" -o out.jsonl) >"$work/stdout" 2>"$work/stderr" </dev/null &
  recorder=$!
  children+=("$recorder")
  wait_until "labelscope records" has_begun_or_ended
  wait_until "the target computes" has_run_or_ended $(($(cpu_ticks "$target") + 200))
  kill -INT "$recorder"
  finish
  expect_status "$exit_ok" "beside a process with 6,000 files, by $1"
  ! grep -q 'none of its files could be read' "$work/stderr" ||
    fail "files of a process could not be read"
  expect_ledger out.jsonl
  jq -se --argjson tids "$tids" \
    '([.[] | select(.type == "thread") | select(.tid as $one | $tids | index($one)) | .id])
      as $threads
    | [.[] | select(.type == "sample") | select(.thread as $one | $threads | index($one))] as $samples
    | ([$samples[] | select(.outcome == 0)] | length) > 20
      and ([$samples[] | select(.outcome == 1)] | length) == 0' out.jsonl >/dev/null ||
    fail "by $1: samples of labelled threads have no labels"
  expect_named out.jsonl "$target" "$copy_of_crowd"
  # A file without samples is no part of a recording.
  (($(grep -c '"type":"module"' out.jsonl) < 100)) ||
    fail "$(grep -c '"type":"module"' out.jsonl) modules by $1"
}
backends=()
(need_sampling) >/dev/null && backends+=(bpf)
(need_ptrace) >/dev/null && backends+=(ptrace)
((${#backends[@]})) || skip_test "neither BPF nor ptrace may be used"
for backend in "${backends[@]}"; do check_backend "$backend"; done

# With few descriptors something must fail, each time at another place: the message names the limit,
# and what raises it. In the end they are enough.
limit=5
while :; do
  with_files "$limit" record --backend "${backends[0]}" -d 0.2 -p "$target" -o "few-$limit.jsonl"
  [[ $status != 0 ]] || break
  expect_said 'ulimit -n'
  ((limit < 200)) || fail "$limit files are not enough?"
  ((limit += 3))
done
((limit > 5)) || fail "five files are enough?"
