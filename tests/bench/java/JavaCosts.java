import customlabels.Labels;
import customlabels.ThreadContext;
import java.util.Arrays;
import java.util.Locale;

/**
 * Measures what labels cost a Java program, beside the same calls from C in the same thread
 * (java_costs.c). Both take turns, and each number is the least of all turns, in nanoseconds. A
 * short turn mostly has the processor for itself.
 *
 * <p>Arguments: the path of the native library, and how often a turn makes its calls.
 */
public final class JavaCosts {
  private static final int TURNS = 500;
  private static final String KEY = "tenant";
  private static final String[] VALUES = {"acme", "initech"};

  private interface Turn {
    void run(int n);
  }

  private JavaCosts() {}

  /** Makes a call from C n times, and returns the nanoseconds that it took. */
  private static native long inC(int which, int n);

  /** Does nothing: the cost of going from Java to C and back. */
  private static native void nothing();

  private static double nanoseconds(Turn turn, int n) {
    long start = System.nanoTime();
    turn.run(n);
    return (double) (System.nanoTime() - start) / n;
  }

  private static double least(double[] numbers) {
    return Arrays.stream(numbers).min().getAsDouble();
  }

  private static void compare(String what, int which, int n, Turn turn) {
    double[] java = new double[TURNS];
    double[] c = new double[TURNS];
    for (int warm = 0; warm < 5; warm++) turn.run(n);
    for (int i = 0; i < TURNS; i++) {
      java[i] = nanoseconds(turn, n);
      c[i] = (double) inC(which, n) / n;
    }
    System.out.printf(Locale.ROOT, "%-34s %8.1f %8.1f%n", what, least(java), least(c));
  }

  private static void compareAll(int n, String with) {
    compare("setLabel, removeLabel" + with, 0, n, count -> {
      for (int i = 0; i < count; i++) {
        ThreadContext.setLabel(KEY, VALUES[i & 1]);
        ThreadContext.removeLabel(KEY);
      }
    });
    compare("with, close" + with, 1, n, count -> {
      for (int i = 0; i < count; i++) {
        try (var scope = Labels.with(KEY, VALUES[i & 1])) {
          nothing();
        }
      }
    });
    compare("put" + with, 2, n, count -> {
      for (int i = 0; i < count; i++) ThreadContext.put(1L << 60 | i, 1L << 61);
    });
    ThreadContext.put(1, 2);
    ThreadContext.setLabel(KEY, "none");
    compare("setLabel, another value" + with, 3, n, count -> {
      for (int i = 0; i < count; i++) ThreadContext.setLabel(KEY, VALUES[i & 1]);
    });
    ThreadContext.removeLabel(KEY);
    ThreadContext.clearTrace();
  }

  public static void main(String[] arguments) {
    if (Labels.problem() != null)
      throw new IllegalStateException(Labels.problem());
    System.load(arguments[0]);
    int n = Integer.parseInt(arguments[1]);
    System.out.printf("%-34s %8s %8s%n", "nanoseconds", "Java", "C");
    compare("nothing", 4, n, count -> {
      for (int i = 0; i < count; i++) nothing();
    });
    compareAll(n, "");
    for (int i = 0; i < 4; i++) ThreadContext.setLabel("key number " + i, "value number " + i);
    compareAll(n, ", beside four");
  }
}
