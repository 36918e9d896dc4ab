# The kernel marks the parent of a vfork() as frozen, so that its cgroup can be frozen meanwhile. It
# waits for its child all the same, and in no frozen group.
source "${BASH_SOURCE%/*}/../lib.sh"
need_waits
need_command jq
python=$(command -v python3) || skip_test "no python3"
cat >starts.py <<'EOF'
import subprocess
while True:
    subprocess.run(["/bin/sh", "-c", "sleep 0.01"])
EOF
"$python" starts.py &
target=$!
children+=("$target")
wait_until "it has a child" grep -q . "/proc/$target/task/$target/children"
run record --mode offcpu -d 1 -o waits.jsonl -p "$target"
expect_status "$exit_ok" "a recording of vfork()"
reasons=$(jq -s '[.[] | select(.type == "labels").labels[] | select(.key == "wait").value] | unique' waits.jsonl)
jq -e 'index("vfork") and (index("frozen") | not)' <<<"$reasons" >/dev/null ||
  fail "the parent of vfork() waits for $reasons"
