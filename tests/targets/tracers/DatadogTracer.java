import datadog.trace.api.CorrelationIdentifier;
import datadog.trace.api.Trace;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/**
 * Two threads compute, each in a span of Datadog's tracer for Java. Each prints its own IDs. With
 * SECONDS as argument, one thread computes so long in spans of two operations that take turns, and
 * prints the CPU time of each.
 */
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

  static long cpuTime() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  static long compute(int milliseconds) {
    long begin = cpuTime();
    while (cpuTime() < begin + milliseconds * 1_000_000L) {}
    return cpuTime() - begin;
  }

  @Trace(operationName = "often")
  static long often() {
    return compute(6);
  }

  @Trace(operationName = "seldom")
  static long seldom() {
    return compute(2);
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments.length == 1) {
      long often = 0, seldom = 0;
      for (long end = cpuTime() + Long.parseLong(arguments[0]) * 1_000_000_000L; cpuTime() < end; ) {
        often += often();
        seldom += seldom();
      }
      System.out.printf("{\"often\":%d,\"seldom\":%d}%n", often, seldom);
      System.exit(0);
    }
    Thread[] threads = {new Thread(DatadogTracer::request), new Thread(DatadogTracer::request)};
    for (Thread thread : threads) thread.start();
    begun.await();
    System.out.println("ready");
    while (System.in.read() >= 0) {}
    stop = true;
    for (Thread thread : threads) thread.join();
  }
}
