import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;

/** Prints what is true about a thread, as other programs under test do (tests/README.md). */
final class Truth {
  private Truth() {}

  /** Returns the number that the kernel has for the calling thread. Java has another one. */
  static int tid() {
    try {
      return Integer.parseInt(
          Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString());
    } catch (IOException error) {
      throw new IllegalStateException(error);
    }
  }

  /** Prints the calling thread's labels: keys and values in turn, all of them well-formed. */
  static void print(String name, String... labels) {
    StringBuilder line = new StringBuilder();
    line.append("{\"tid\":").append(tid()).append(",\"name\":\"").append(name);
    line.append("\",\"labels\":[");
    for (int i = 0; i < labels.length; i += 2) {
      line.append(i == 0 ? "" : ",").append("{\"key\":\"").append(hex(labels[i]));
      line.append("\",\"value\":\"").append(hex(labels[i + 1])).append("\"}");
    }
    System.out.println(line.append("]}"));
  }

  private static String hex(String text) {
    return HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Says that all is printed, and returns when stdin is closed. */
  static void stay() throws IOException {
    System.out.println("ready");
    System.out.flush();
    while (System.in.read() >= 0) {
    }
  }
}
