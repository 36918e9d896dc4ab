package customlabels;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.List;

/**
 * Sets labels of a list that is fixed when the program starts, as tracers have one. Each attribute
 * is a label with its name as key, and has an offset in the list.
 *
 * <p>A setter has no labels itself, and any number of threads may use it: a call changes the labels
 * of the thread that makes it. Its methods return whether they succeeded; {@link ThreadContext}
 * does the same with reasons.
 */
public final class ContextSetter {
  private final String[] attributes;

  /**
   * Makes a setter of these attributes. The second of two equal ones does not count.
   *
   * @throws IllegalArgumentException if there are more than {@link ThreadContext#MAX_LABELS}, or
   *     one is empty, belongs to the trace context, or is longer than {@link
   *     ThreadContext#MAX_KEY_BYTES}
   */
  public ContextSetter(List<String> attributes) {
    this.attributes = new LinkedHashSet<>(attributes).toArray(new String[0]);
    if (this.attributes.length > ThreadContext.MAX_LABELS) {
      throw new IllegalArgumentException("a thread has room for " + ThreadContext.MAX_LABELS
          + " labels, and these are " + this.attributes.length + ": " + attributes);
    }
    for (String attribute : this.attributes) check(attribute);
  }

  private static void check(String attribute) {
    if (attribute == null || attribute.isEmpty()) {
      throw new IllegalArgumentException("an attribute needs a name");
    }
    if (attribute.equals("span-id") || attribute.equals("root-span-id")) {
      throw new IllegalArgumentException(
          attribute + " belongs to the trace context, which ThreadContext.put sets");
    }
    if (attribute.getBytes(StandardCharsets.UTF_8).length > ThreadContext.MAX_KEY_BYTES) {
      throw new IllegalArgumentException(
          "a key has at most " + ThreadContext.MAX_KEY_BYTES + " bytes of UTF-8: " + attribute);
    }
  }

  /** Returns the offset of an attribute, for the methods that take one, or -1 if it has none. */
  public int offsetOf(String attribute) {
    for (int i = 0; i < attributes.length; i++) {
      if (attributes[i].equals(attribute))
        return i;
    }
    return -1;
  }

  /** Sets the attribute with this offset. Returns false if there is none or it was not set. */
  public boolean setContextValue(int offset, String value) {
    if (offset < 0 || offset >= attributes.length)
      return false;
    return !ThreadContext.setLabel(attributes[offset], value).failed();
  }

  /** Sets an attribute of the list. Returns false if it is not in there or was not set. */
  public boolean setContextValue(String attribute, String value) {
    return setContextValue(offsetOf(attribute), value);
  }

  /** Takes the value with this offset away. Returns false if there is no such attribute. */
  public boolean clearContextValue(int offset) {
    if (offset < 0 || offset >= attributes.length)
      return false;
    return !ThreadContext.removeLabel(attributes[offset]).failed();
  }

  /** Takes the value of an attribute away. Returns false if it is not in the list. */
  public boolean clearContextValue(String attribute) {
    return clearContextValue(offsetOf(attribute));
  }
}
