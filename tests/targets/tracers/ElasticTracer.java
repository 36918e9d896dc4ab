import co.elastic.apm.api.ElasticApm;
import co.elastic.apm.api.Scope;
import co.elastic.apm.api.Span;
import co.elastic.apm.api.Transaction;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/** Two threads compute, each in a span of Elastic's agent for Java. Each prints its own IDs. */
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

  public static void main(String[] arguments) throws Exception {
    Thread[] threads = {new Thread(ElasticTracer::request), new Thread(ElasticTracer::request)};
    for (Thread thread : threads) thread.start();
    begun.await();
    System.out.println("ready");
    while (System.in.read() >= 0) {}
    stop = true;
    for (Thread thread : threads) thread.join();
  }
}
