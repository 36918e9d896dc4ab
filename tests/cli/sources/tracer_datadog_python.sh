# Datadog's tracer for Python, 4.16.0 from PyPI, with its defaults: OpenTelemetry's thread context, and
# the process context with the names of its attributes.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/tracers.sh"
python3 -m venv "$work/venv" >"$work/install" 2>&1 || skip_test "python3 makes no virtual environment: $(tail -n 1 "$work/install")"
fetch "ddtrace 4.16.0" PyPI "$work/venv/bin/pip" install --quiet --disable-pip-version-check --retries 1 ddtrace==4.16.0
# There is no agent that takes its traces.
export DD_INSTRUMENTATION_TELEMETRY_ENABLED=false DD_REMOTE_CONFIGURATION_ENABLED=false DD_SERVICE=shop
expect_published otel_thread_ctx_v1 "$work/venv/bin/python" "$tracers/datadog.py"
run dump -p "$target" --json
jq -e '.attributes | any(.key == "service.name" and .value == "shop")' "$work/stdout" >/dev/null ||
  fail "the service is not among the attributes of the process: $(jq -c .attributes "$work/stdout")"
stop_target

# Tasks of asyncio take turns in one thread. The tracer follows them if it was there before asyncio.
are_shares_true() {
  "$LABELSCOPE" record --backend "$1" -F 499 --call-graph none -o "$work/tasks.jsonl" --overwrite -- \
    "$work/venv/bin/python" "$tracers/datadog_asyncio.py" 4 >"$work/account" 2>"$work/stderr" || fail "record of tasks by $1"
  # The turn from one task to the next is in no account.
  python3 "$SOURCE_DIR/tenant_shares.py" "$work/tasks.jsonl" "$work/account" --key span_id --allow 0.02
  local ended=$?
  ((ended != 2)) || fail "labels of no task"
  return "$ended"
}
backends=(ptrace)
(need_sampling >/dev/null) && backends+=(bpf)
for backend in "${backends[@]}"; do
  # One of a hundred recordings has a share beyond three standard errors by chance.
  are_shares_true "$backend" || are_shares_true "$backend" || fail "shares of tasks by $backend"
done
