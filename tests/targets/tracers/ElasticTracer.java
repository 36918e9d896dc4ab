import co.elastic.apm.api.ElasticApm;
import co.elastic.apm.api.Scope;
import co.elastic.apm.api.Span;
import co.elastic.apm.api.Transaction;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/**
 * Two threads compute, each in a span of Elastic's agent for Java. Each prints its own IDs. With
 * SECONDS as argument, one thread computes so long in two spans that take turns, and prints the CPU
 * time of each.
 */
public class ElasticTracer {
  static volatile boolean stop;
  static final CountDownLatch begun = new CountDownLatch(2);

  static void request() {
    Transaction transaction = ElasticApm.startTransaction();
    try (Scope whole = transaction.activate()) {
      Span span = transaction.startSpan();
      try (Scope part = span.activate()) {
        String tid = Path.of("/proc/thread-self").toRealPath().getFileName().toString();
        synchronized (begun) {
          System.out.printf(
              "{\"tid\":%s,\"labels\":{\"trace_id\":\"%s\",\"span_id\":\"%s\",\"transaction_id\":\"%s\"}}%n",
              tid, span.getTraceId(), span.getId(), transaction.getId());
        }
        begun.countDown();
        while (!stop) {}
      } catch (java.io.IOException problem) {
        throw new RuntimeException(problem);
      }
      span.end();
    }
    transaction.end();
  }

  static long cpuTime() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  static void takeTurns(long seconds) {
    Transaction transaction = ElasticApm.startTransaction();
    Span[] spans = {transaction.startSpan(), transaction.startSpan()};
    long[] spent = {0, 0}, turns = {6_000_000, 2_000_000};
    int which = 0;
    for (long end = cpuTime() + seconds * 1_000_000_000L; cpuTime() < end; which ^= 1) {
      try (Scope scope = spans[which].activate()) {
        long begin = cpuTime();
        while (cpuTime() < begin + turns[which]) {}
        spent[which] += cpuTime() - begin;
      }
    }
    System.out.printf("{\"%s\":%d,\"%s\":%d}%n", spans[0].getId(), spent[0], spans[1].getId(), spent[1]);
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments.length == 1) {
      takeTurns(Long.parseLong(arguments[0]));
      System.exit(0);
    }
    Thread[] threads = {new Thread(ElasticTracer::request), new Thread(ElasticTracer::request)};
    for (Thread thread : threads) thread.start();
    begun.await();
    System.out.println("ready");
    while (System.in.read() >= 0) {}
    stop = true;
    for (Thread thread : threads) thread.join();
  }
}
