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
expect_shares span_id "$work/venv/bin/python" "$tracers/datadog_asyncio.py" 4
