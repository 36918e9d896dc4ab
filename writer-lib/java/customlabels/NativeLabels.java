package customlabels;

/**
 * The native methods, and the library that has them (native/java_labels.c). Each text comes with
 * its length, which costs native code a call and Java nothing. A result is the number of a {@link
 * LabelResult}.
 */
final class NativeLabels {
  /** The path of the library, for programs that do not have it where Java looks. */
  static final String PATH_PROPERTY = "customlabels.library";

  static final String NAME = "labelsjni";

  /** Why the native methods must not be called; null if they may. */
  static final String PROBLEM = load();

  private NativeLabels() {}

  private static String load() {
    String path = System.getProperty(PATH_PROPERTY);
    try {
      if (path != null) {
        System.load(path);
      } else {
        System.loadLibrary(NAME);
      }
    } catch (LinkageError | RuntimeException error) { // since JDK 24 a caller may be refused
      return problem(path, error.getMessage());
    }
    try {
      version();
      return null;
    } catch (UnsatisfiedLinkError error) { // it has not given this class its methods
      return problem(path, "it is older than customlabels.jar, or another library");
    }
  }

  private static String problem(String path, String why) {
    String wanted = path != null ? path : "lib" + NAME + ".so";
    return "threads have no labels: " + wanted + " was not loaded (" + why + "); name its path in -D"
        + PATH_PROPERTY + "=, or start the program with customlabels-java";
  }

  static boolean missing() {
    return PROBLEM != null;
  }

  static int units(String text) {
    return text == null ? -1 : text.length();
  }

  /** No older library has this method. */
  private static native int version();

  static native int set(String key, int keyUnits, String value, int valueUnits);

  static native int remove(String key, int keyUnits);

  static native int clear();

  static native int setTrace(long spanId, long rootSpanId);

  static native int clearTrace();

  /**
   * Enters a scope of a thread of Java, by its number. The lowest eight bits are the result, those
   * above a ticket, or 0 for none.
   */
  static native long enter(long thread, String key, int keyUnits, String value, int valueUnits);

  static native long enterTwo(long thread, String key1, int key1Units, String value1,
      int value1Units, String key2, int key2Units, String value2, int value2Units);

  static native int leave(long ticket);
}
