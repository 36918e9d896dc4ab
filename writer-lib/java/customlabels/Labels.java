package customlabels;

/**
 * Labels of a scope:
 *
 * <pre>{@code
 * try (var scope = Labels.with("tenant", tenant)) {
 *   handle(request); // profiled under the label
 * } // and here, or when handle() throws, what was there before is back
 * }</pre>
 */
public final class Labels {
  private Labels() {}

  /**
   * Sets a label until the scope is closed. Then exactly the labels of before are back, the trace
   * context included, whatever was set in between.
   */
  public static Scope with(String key, String value) {
    if (NativeLabels.missing())
      return Scope.NO_LIBRARY;
    return new Scope(NativeLabels.enter(Thread.currentThread().getId(), key,
        NativeLabels.units(key), value, NativeLabels.units(value)));
  }

  /** Sets two labels, all or none, and as one change: no profiler reads one without the other. */
  public static Scope with(String key1, String value1, String key2, String value2) {
    if (NativeLabels.missing())
      return Scope.NO_LIBRARY;
    return new Scope(
        NativeLabels.enterTwo(Thread.currentThread().getId(), key1, NativeLabels.units(key1), value1,
            NativeLabels.units(value1), key2, NativeLabels.units(key2), value2,
            NativeLabels.units(value2)));
  }

  /** Returns why no call can set labels, in a sentence to log; null if they can. */
  public static String problem() {
    return NativeLabels.PROBLEM;
  }

  /**
   * What {@link Labels#with} has entered. It belongs to the thread that entered it; closing it in
   * another one changes nothing there. Scopes that were entered after it and not closed are closed
   * with it.
   */
  public static final class Scope implements AutoCloseable {
    static final Scope NO_LIBRARY = new Scope(LabelResult.NO_LIBRARY.bits());

    /** The lowest eight bits are the last result, those above the ticket: 0 if there is none. */
    private long state;

    private Scope(long state) {
      this.state = state;
    }

    /** Returns whether the labels were set, and when it is closed, what that did. */
    public LabelResult result() {
      return LabelResult.of((byte) state);
    }

    /** Makes the labels current that were so when the scope was entered. */
    @Override
    public void close() {
      long ticket = state >>> 8;
      if (ticket == 0)
        return;
      LabelResult result = LabelResult.of(NativeLabels.leave(ticket));
      state = (result == LabelResult.ABSENT ? LabelResult.NO_SCOPE : result).bits();
    }
  }
}
