package customlabels;

/** What a call did. If {@link #failed()}, the thread's labels are what they were before. */
public enum LabelResult {
  /** The calling thread has no such scope: it was left before, or entered by another thread. */
  NO_SCOPE(-7),
  /** The native library was not loaded; {@link Labels#problem()} has the reason. */
  NO_LIBRARY(-6),
  /** A signal handler interrupted another call on this thread. Java code never is one. */
  BUSY(-5),
  /** The key belongs to the trace context, which {@link ThreadContext#put} sets. */
  RESERVED(-4),
  /** The key is null or empty, or the value is null. */
  INVALID(-3),
  /** The thread's memory could not be allocated. */
  NO_MEMORY(-2),
  /** The thread has {@link ThreadContext#MAX_LABELS} labels already. */
  FULL(-1),
  /** The label is published, and its key is new. */
  SET(0),
  /** The label is published, and its key was there before. */
  REPLACED(1),
  /** What was there is gone. */
  REMOVED(2),
  /** There was nothing to remove. */
  ABSENT(3),
  /** The label is published, but its key or value was cut at the end of a character. */
  TRUNCATED(4);

  private static final LabelResult[] ALL = values();

  private final int code;

  LabelResult(int code) {
    this.code = code;
  }

  /** Returns whether nothing was changed because something was wrong. */
  public boolean failed() {
    return code < 0;
  }

  /** Returns its number in the lowest eight bits, as {@link NativeLabels#enter} does. */
  long bits() {
    return code & 0xff;
  }

  /** Returns the result with this number: those of writer.h, and two of Java's own. */
  static LabelResult of(int code) {
    return ALL[code - NO_SCOPE.code];
  }
}
