import customlabels.Labels;
import customlabels.ThreadContext;
import java.io.IOException;

/**
 * 200 threads that change their labels all the time. Whatever a profiler reads must be a set that
 * one of them has made: a root span is three times the span and one, and the labels a and b, which
 * are set at once, have the same number.
 */
public final class LabelChurn {
  private static final int THREADS = 200;
  private static final int NUMBERS = 1 << 12;

  private static volatile boolean over;

  private LabelChurn() {}

  private static void work(int start, String[] numbers) {
    for (int n = start; !over; n++) {
      String number = numbers[n % NUMBERS];
      ThreadContext.put(n, 3L * n + 1);
      try (var outer = Labels.with("a", number, "b", number)) {
        ThreadContext.setLabel("c", number);
        ThreadContext.put(n + 1, 3L * n + 4);
        try (var inner = Labels.with("b", "inner", "a", "inner")) {
          ThreadContext.removeLabel("c");
        }
      }
      ThreadContext.clearTrace();
      // All threads shall be seen, although there are more than processors.
      if (n % 64 == 0) Thread.yield();
    }
    ThreadContext.clearLabels();
  }

  public static void main(String[] arguments) throws IOException, InterruptedException {
    String[] numbers = new String[NUMBERS];
    // The length differs, so that a mixture of two texts would have one that is not there.
    for (int i = 0; i < NUMBERS; i++) numbers[i] = Integer.toString(i) + "-".repeat(i % 100);
    Thread[] threads = new Thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
      int start = i * 37;
      threads[i] = new Thread(() -> work(start, numbers));
      threads[i].start();
    }
    Truth.stay();
    over = true;
    for (Thread thread : threads) thread.join();
  }
}
