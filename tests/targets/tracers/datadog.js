// Work in a span of Datadog's tracer for node. It takes turns with other work, which has no span.
const tracer = require('dd-trace').init({ startupLogs: false });
let stop = false;
process.stdin.on('data', () => {}).on('end', () => { stop = true; });
const compute = (milliseconds) => { const end = Date.now() + milliseconds; while (Date.now() < end) {} };
tracer.trace('request', (root) => tracer.trace('step', async (span) => {
  const hex = (id) => id.padStart(16, '0');
  const labels = {
    trace_id: span.context().toTraceId(true).padStart(32, '0'),
    span_id: hex(span.context().toSpanId(true)),
    'datadog.local_root_span_id': hex(root.context().toSpanId(true)),
  };
  console.log(JSON.stringify({ tid: process.pid, labels }));
  console.log('ready');
  while (!stop) {
    compute(20);
    await new Promise(setImmediate);
  }
  process.exit(0);
}));
