import datadog.trace.api.CorrelationIdentifier;
import datadog.trace.api.Trace;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/** Two threads compute, each in a span of Datadog's tracer for Java. Each prints its own IDs. */
public class DatadogTracer {
  static volatile boolean stop;
  static final CountDownLatch begun = new CountDownLatch(2);

  @Trace
  static void request() {
    step();
  }

  @Trace
  static void step() {
    try {
      String tid = Path.of("/proc/thread-self").toRealPath().getFileName().toString();
      // The API has the number in decimal digits; labels have it as OpenTelemetry writes it.
      long span = Long.parseUnsignedLong(CorrelationIdentifier.getSpanId());
      synchronized (begun) {
        System.out.printf(
            "{\"tid\":%s,\"labels\":{\"trace_id\":\"%s\",\"span_id\":\"%016x\"}}%n",
            tid, CorrelationIdentifier.getTraceId(), span);
      }
    } catch (java.io.IOException problem) {
      throw new RuntimeException(problem);
    }
    begun.countDown();
    while (!stop) {}
  }

  public static void main(String[] arguments) throws Exception {
    Thread[] threads = {new Thread(DatadogTracer::request), new Thread(DatadogTracer::request)};
    for (Thread thread : threads) thread.start();
    begun.await();
    System.out.println("ready");
    while (System.in.read() >= 0) {}
    stop = true;
    for (Thread thread : threads) thread.join();
  }
}
