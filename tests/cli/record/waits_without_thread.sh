# Where requests have no thread while they wait, a recording of waits says so, in one line.
source "${BASH_SOURCE%/*}/../lib.sh"
need_waits
tried=0
# expect_line <who> <what is recorded...>
expect_line() {
  local who=$1
  shift
  run record --mode offcpu --overwrite -o waits.jsonl -d 1s "$@"
  expect_status "$exit_ok" "waits of $who"
  (($(grep -c 'have no thread while they wait' "$work/stderr") == 1)) || fail "$who: not said once"
  expect_said "^$who have no thread while they wait"
  tried=1
}
if python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null); then
  cat >tasks.py <<'PYTHON'
import asyncio
async def task():
    while True: await asyncio.sleep(0.01)
async def tasks():
    print("ready", flush=True)
    await asyncio.gather(*(task() for _ in range(20)))
asyncio.run(tasks())
PYTHON
  # When it is recorded, it has imported everything, so that there are no samples of that.
  "$python" tasks.py >said &
  children+=("$!")
  wait_until "the program has begun" grep -q '^ready' said
  expect_line 'tasks of asyncio' -p "$!"
  # A program without it has threads.
  run record --mode offcpu --overwrite -o waits.jsonl -d 1s --end-command -- \
    "$python" -c 'import time; time.sleep(9)'
  ! grep -q 'have no thread' "$work/stderr" || fail "a program of one thread is said to have none"
fi
[[ ! -x $GO_LABELS/static ]] || expect_line 'goroutines of Go' --end-command -- "$GO_LABELS/static"
if [[ -n $NODE_MODULES ]] && NODE_PATH=$NODE_MODULES node -e 'require("customlabels")' 2>"$work/stderr"; then
  export NODE_PATH=$NODE_MODULES
  expect_line 'requests of node' --end-command -- node "$SOURCE_DIR/../targets/node/node_labels.js" shares 3
fi
((tried)) || skip_test "there is none of Python, Go and node"
