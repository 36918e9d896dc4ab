# With -X perf, Python puts code of its own between functions of a script (3.12 and later), and
# writes their names down. Stacks lead through it, from the innermost function to the start.
source "${BASH_SOURCE%/*}/../lib.sh"
need_ptrace
candidates=(python3.14 python3.13 python3.12 python3)
# The launchers of pyenv start one version of several.
! command -v pyenv >/dev/null || candidates+=("$(pyenv root)"/versions/*/bin/python3)
python=""
for candidate in "${candidates[@]}"; do
  python=$("$candidate" -X perf -c \
    'import sys; sys.is_stack_trampoline_active() and print(sys.executable)' 2>/dev/null)
  [[ -z $python ]] || break
done
[[ -n $python ]] || skip_test "no Python 3.12 or later that supports perf"
cat >script.py <<'EOP'
def leaf(count):
    return sum(number * number for number in [count] * 1000)
def again(depth):
    return leaf(depth) if depth == 0 else again(depth - 1)
def main():
    print("ready", flush=True)
    while True:
        again(7)
main()
EOP
start_target "$python" -X perf script.py
expect_whole() {
  record_for 100 --backend "$1" -p "$target" -o out.folded --overwrite
  expect_status "$exit_ok" "record --backend $1"
  # Its functions in their order, from the start of the thread on.
  awk '{ all += $NF }
    /_start;.*py::<module>:.*py::main:.*py::again:.*py::leaf:/ && gsub(/py::again:/, "") == 8 {
      whole += $NF }
    END { exit !(whole > 0.9 * all) }' out.folded ||
    fail "$1: stacks do not have the functions of the script: $(head -3 out.folded)"
}
expect_whole ptrace
! (need_sampling >/dev/null) || expect_whole bpf
run dump --stacks -p "$target"
expect_status "$exit_ok" "dump --stacks"
[[ $(grep -c 'py::again:' "$work/stdout") == 8 ]] || fail "dump: $(cat "$work/stdout")"
