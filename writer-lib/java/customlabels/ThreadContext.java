package customlabels;

/**
 * The labels of the calling thread. It has ten places: the first two are for the trace context,
 * {@code span-id} and {@code root-span-id}, and eight are for the program.
 *
 * <p>After a thread's first call nothing is allocated, in Java or outside of it.
 */
public final class ThreadContext {
  /** How many labels a thread can have besides the trace context. */
  public static final int MAX_LABELS = 8;

  /** How many bytes of UTF-8 a key can have. A longer one is cut at the end of a character. */
  public static final int MAX_KEY_BYTES = 128;

  /** How many bytes of UTF-8 a value can have. A longer one is cut at the end of a character. */
  public static final int MAX_VALUE_BYTES = 256;

  private ThreadContext() {}

  /**
   * Sets both labels of the trace context at once: {@code span-id} and {@code root-span-id}, each
   * in decimal. The numbers are unsigned, as {@link Long#toUnsignedString(long)} writes them, and
   * zero is a number like any other.
   */
  public static LabelResult put(long spanId, long rootSpanId) {
    if (NativeLabels.missing())
      return LabelResult.NO_LIBRARY;
    return LabelResult.of(NativeLabels.setTrace(spanId, rootSpanId));
  }

  /** Takes the trace context away; the other labels stay. */
  public static LabelResult clearTrace() {
    if (NativeLabels.missing())
      return LabelResult.NO_LIBRARY;
    return LabelResult.of(NativeLabels.clearTrace());
  }

  /**
   * Sets a label: adds the key or replaces its value. An empty value is a value. In texts that are
   * not well-formed, U+FFFD stands for a surrogate without its other half.
   */
  public static LabelResult setLabel(String key, String value) {
    if (NativeLabels.missing())
      return LabelResult.NO_LIBRARY;
    return LabelResult.of(
        NativeLabels.set(key, NativeLabels.units(key), value, NativeLabels.units(value)));
  }

  /** Removes a label. */
  public static LabelResult removeLabel(String key) {
    if (NativeLabels.missing())
      return LabelResult.NO_LIBRARY;
    return LabelResult.of(NativeLabels.remove(key, NativeLabels.units(key)));
  }

  /** Removes all labels; the trace context stays. */
  public static LabelResult clearLabels() {
    if (NativeLabels.missing())
      return LabelResult.NO_LIBRARY;
    return LabelResult.of(NativeLabels.clear());
  }
}
