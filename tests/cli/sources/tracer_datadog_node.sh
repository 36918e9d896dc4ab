# Datadog's tracer for node, 6.21.0 from npm, with node 24 and its addon @datadog/pprof, where the
# environment switches the thread context on.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/tracers.sh"
need_command npm
mkdir "$work/npm" && echo '{"private":true}' >"$work/npm/package.json"
# The package node has the program itself.
fetch "dd-trace 6.21.0 and node 24.21.0" npm npm --prefix "$work/npm" install --fetch-retries 0 --ignore-scripts --no-audit --no-fund \
  --cache "$work/npm-cache" dd-trace@6.21.0 @datadog/pprof@5.20.0 "node-linux-$( [[ $(uname -m) == aarch64 ]] && echo arm64 || echo x64)@24.21.0"
node=$(ls "$work/npm/node_modules/"node-linux-*/bin/node)
cp "$tracers/datadog.js" "$work/npm/datadog.js"
export DD_TRACE_OTEL_CTX_ENABLED=true DD_INSTRUMENTATION_TELEMETRY_ENABLED=false DD_REMOTE_CONFIGURATION_ENABLED=false
# The event loop has no span.
unlabelled=0.05
expect_published otel_thread_ctx_nodejs_v1 "$node" "$work/npm/datadog.js"
