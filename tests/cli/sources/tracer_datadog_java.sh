# Datadog's tracer for Java, 1.68.1 from Maven Central, with its profiler, which publishes
# OpenTelemetry's thread context.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/tracers.sh"
need_jdk
install_jar com.datadoghq:dd-java-agent:1.68.1
agent=$jar
install_jar com.datadoghq:dd-trace-api:1.66.0
javac -cp "$jar" -d "$work/classes" "$tracers/DatadogTracer.java" >"$work/stderr" 2>&1 || fail "the program cannot be compiled"
export DD_INSTRUMENTATION_TELEMETRY_ENABLED=false DD_REMOTE_CONFIGURATION_ENABLED=false
tracer=(java -Xmx256m -XX:+UseSerialGC -Djava.io.tmpdir="$work" -javaagent:"$agent" -Ddd.profiling.enabled=true -Ddd.service=shop
  -cp "$jar:$work/classes" DatadogTracer)
expect_published otel_thread_ctx_v1 "${tracer[@]}"
stop_target
expect_shares _dd.trace.operation "${tracer[@]}" 4
