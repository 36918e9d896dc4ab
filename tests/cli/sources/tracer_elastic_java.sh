# Elastic's agent for Java, 1.55.1 from Maven Central, with its integration of universal profiling.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/tracers.sh"
need_jdk
install_jar co.elastic.apm:elastic-apm-agent:1.55.1
agent=$jar
install_jar co.elastic.apm:apm-agent-api:1.55.4
javac -cp "$jar" -d "$work/classes" "$tracers/ElasticTracer.java" >"$work/stderr" 2>&1 || fail "the program cannot be compiled"
tracer=(java -Xmx256m -XX:+UseSerialGC -Djava.io.tmpdir="$work" -javaagent:"$agent" -Delastic.apm.service_name=shop
  -Delastic.apm.universal_profiling_integration_enabled=true
  -Delastic.apm.universal_profiling_integration_socket_dir="$work" -cp "$jar:$work/classes" ElasticTracer)
expect_published elastic_apm_profiling_correlation_tls_v1 "${tracer[@]}"
stop_target
expect_shares span_id "${tracer[@]}" 4
