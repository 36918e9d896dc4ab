import customlabels.Labels;
import customlabels.ThreadContext;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Two threads that compute for three tenants in turn, and without a label in between. For
 * each line of input the program prints how many nanoseconds they have had a processor for each, by
 * the clocks of the threads.
 */
public final class LabelLoad {
  private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
  private static final String[] NAMES = {"acme", "globex", "z\u00fcr\ud83d\ude00", "(none)"};
  private static final long[] SHARES = {300_000, 100_000, 60_000, 40_000};

  private static volatile boolean over;

  private LabelLoad() {}

  // Each tenant has a method of its own, so that the name of a frame can be compared with the
  // label.
  static double computeAcme(double x, long end) {
    while (CLOCK.getCurrentThreadCpuTime() < end)
      for (int i = 0; i < 2000; i++) x = x * 0.99 + i;
    return x;
  }

  static double computeGlobex(double x, long end) {
    while (CLOCK.getCurrentThreadCpuTime() < end)
      for (int i = 0; i < 2000; i++) x = x * 0.98 + i;
    return x;
  }

  static double computeOther(double x, long end) {
    while (CLOCK.getCurrentThreadCpuTime() < end)
      for (int i = 0; i < 2000; i++) x = x * 0.97 + i;
    return x;
  }

  private static double compute(int which, double x, long end) {
    if (which == 0)
      return computeAcme(x, end);
    return which == 1 ? computeGlobex(x, end) : computeOther(x, end);
  }

  private static void work(AtomicLongArray spent) {
    Truth.print("worker");
    double x = 0;
    long last = CLOCK.getCurrentThreadCpuTime();
    for (long round = 0; !over; round++) {
      for (int which = 0; which < 3; which++) {
        ThreadContext.put(round, 77);
        try (var scope = Labels.with("tenant", NAMES[which], "n", "n" + which)) {
          // What came before belongs to no tenant, which is the last place.
          last = count(spent, 3, last);
          x = compute(which, x, last + SHARES[which]);
        }
        last = count(spent, which, last);
      }
      ThreadContext.clearTrace();
      x = compute(3, x, last + SHARES[3]);
    }
    if (x == 1)
      System.out.println(x); // so that the work has a result
  }

  /** Counts the time since the last call for this tenant, and returns the time of now. */
  private static long count(AtomicLongArray spent, int which, long last) {
    long now = CLOCK.getCurrentThreadCpuTime();
    spent.lazySet(which, spent.get(which) + now - last);
    return now;
  }

  public static void main(String[] arguments) throws IOException {
    AtomicLongArray[] spent = new AtomicLongArray[2];
    for (int i = 0; i < spent.length; i++) {
      AtomicLongArray own = new AtomicLongArray(NAMES.length);
      spent[i] = own;
      Thread thread = new Thread(() -> work(own), "worker-" + i);
      thread.setDaemon(true);
      thread.start();
    }
    System.out.println("ready");
    // A line of input asks for the account so far.
    for (int read = System.in.read(); read >= 0; read = System.in.read()) {
      if (read != '\n')
        continue;
      StringBuilder line = new StringBuilder("spent");
      for (int which = 0; which < NAMES.length; which++) {
        line.append(' ').append(spent[0].get(which) + spent[1].get(which));
      }
      System.out.println(line);
    }
    over = true;
  }
}
