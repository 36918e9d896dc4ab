import static customlabels.LabelResult.*;

import customlabels.ContextSetter;
import customlabels.LabelResult;
import customlabels.Labels;
import customlabels.ThreadContext;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * Makes all calls of the library, each case in a thread of its own, checks what they return, and
 * prints which labels the thread must have then. The threads stay until stdin is closed. With the
 * argument "missing" there is no library.
 */
public final class LabelCases {
  private interface Case {
    void run() throws Exception;
  }

  private static final List<String> problems = new ArrayList<>();
  private static final List<Thread> threads = new ArrayList<>();
  private static final CountDownLatch over = new CountDownLatch(1);

  private static void problem(String what) {
    synchronized (problems) {
      problems.add(Thread.currentThread().getName() + ": " + what);
    }
  }

  private static void expect(Object wanted, Object seen) {
    if (!wanted.equals(seen))
      problem("expected " + wanted + ", and it is " + seen);
  }

  private static void expectRefused(String... attributes) {
    try {
      new ContextSetter(List.of(attributes));
      problem("a list was not refused: " + attributes[0]);
    } catch (IllegalArgumentException refused) {
      // This is what must happen.
    }
  }

  /** Runs a case in a thread, and keeps the thread and its labels. */
  private static void in(String name, Case body) throws InterruptedException {
    CountDownLatch done = new CountDownLatch(1);
    Thread thread = new Thread(() -> {
      try {
        body.run();
        done.countDown();
        over.await();
      } catch (Throwable error) {
        problem(error.toString());
        done.countDown();
      }
    }, name);
    thread.setDaemon(true);
    thread.start();
    threads.add(thread);
    done.await();
  }

  private static void labels(String... labels) {
    Truth.print(Thread.currentThread().getName(), labels);
  }

  private static void text(String name, String value, String published, LabelResult result)
      throws InterruptedException {
    in(name, () -> {
      expect(result, ThreadContext.setLabel("text", value));
      labels("text", published);
    });
  }

  private static void single() throws InterruptedException {
    in("one label", () -> {
      expect(SET, ThreadContext.setLabel("tenant", "acme"));
      expect(REPLACED, ThreadContext.setLabel("tenant", "globex"));
      expect(ABSENT, ThreadContext.removeLabel("ten"));
      labels("tenant", "globex");
    });
    in("removed", () -> {
      ThreadContext.setLabel("tenant", "acme");
      ThreadContext.setLabel("route", "/pay");
      expect(REMOVED, ThreadContext.removeLabel("tenant"));
      labels("route", "/pay");
    });
    in("a new thread has none", () -> {
      ThreadContext.setLabel("tenant", "acme");
      Thread inner = new Thread(() -> expect(ABSENT, ThreadContext.clearLabels()));
      inner.start();
      inner.join();
      labels("tenant", "acme");
    });
    in("invalid", () -> {
      expect(INVALID, ThreadContext.setLabel(null, "x"));
      expect(INVALID, ThreadContext.setLabel("", "x"));
      expect(INVALID, ThreadContext.setLabel("x", null));
      expect(INVALID, ThreadContext.removeLabel(null));
      expect(INVALID, Labels.with("x", null).result());
      labels();
    });
  }

  private static void trace() throws InterruptedException {
    in("trace context first", () -> {
      ThreadContext.setLabel("tenant", "acme");
      expect(SET, ThreadContext.put(12345, -1));
      expect(REPLACED, ThreadContext.put(12346, -1));
      labels("span-id", "12346", "root-span-id", "18446744073709551615", "tenant", "acme");
    });
    in("clearLabels keeps the trace context", () -> {
      ThreadContext.put(0, Long.MIN_VALUE);
      ThreadContext.setLabel("tenant", "acme");
      expect(REMOVED, ThreadContext.clearLabels());
      labels("span-id", "0", "root-span-id", "9223372036854775808");
    });
    in("clearTrace keeps the labels", () -> {
      ThreadContext.put(1, 2);
      ThreadContext.setLabel("tenant", "acme");
      expect(REMOVED, ThreadContext.clearTrace());
      expect(ABSENT, ThreadContext.clearTrace());
      labels("tenant", "acme");
    });
    in("reserved", () -> {
      ThreadContext.put(1, 2);
      expect(RESERVED, ThreadContext.setLabel("span-id", "3"));
      expect(RESERVED, ThreadContext.setLabel("root-span-id", "3"));
      expect(RESERVED, ThreadContext.removeLabel("span-id"));
      expect(RESERVED, Labels.with("span-id", "3").result());
      expect(SET, ThreadContext.setLabel("Span-id", "x"));
      labels("span-id", "1", "root-span-id", "2", "Span-id", "x");
    });
    in("ten labels", () -> {
      List<String> all = new ArrayList<>(List.of("span-id", "7", "root-span-id", "8"));
      for (int i = 0; i < ThreadContext.MAX_LABELS; i++) {
        expect(SET, ThreadContext.setLabel("key" + i, "value" + i));
        all.addAll(List.of("key" + i, "value" + i));
      }
      expect(SET, ThreadContext.put(7, 8));
      expect(FULL, ThreadContext.setLabel("ninth", "x"));
      try (var scope = Labels.with("key0", "y", "ninth", "x")) {
        expect(FULL, scope.result());
      }
      expect(REPLACED, ThreadContext.setLabel("key7", "value7"));
      labels(all.toArray(new String[0]));
    });
  }

  private static void texts() throws InterruptedException {
    String a252 = "a".repeat(252);
    text("empty", "", "", SET);
    text("latin", "na\u00efve", "na\u00efve", SET);
    text("emoji", "z\u00fcr\u20ac\ud83d\ude00", "z\u00fcr\u20ac\ud83d\ude00", SET);
    text("zero", "a\0b", "a\0b", SET);
    text("first half alone", "\ud83dx", "\ufffdx", SET);
    text("first half at the end", "x\ud83d", "x\ufffd", SET);
    text("second half alone", "x\ude00y", "x\ufffdy", SET);
    text("halves the wrong way round", "\ude00\ud83d", "\ufffd\ufffd", SET);
    text("256 bytes", "b".repeat(256), "b".repeat(256), SET);
    text("257 bytes", "b".repeat(257), "b".repeat(256), TRUNCATED);
    text("very long", "b".repeat(1 << 20), "b".repeat(256), TRUNCATED);
    text("no room for two bytes", a252 + "bbb\u00ef", a252 + "bbb", TRUNCATED);
    text("room for two bytes", a252 + "bb\u00ef", a252 + "bb\u00ef", SET);
    text("no room for three bytes", a252 + "bb\u20ac", a252 + "bb", TRUNCATED);
    text("no room for a pair", a252 + "b\ud83d\ude00", a252 + "b", TRUNCATED);
    text("room for a pair", a252 + "\ud83d\ude00", a252 + "\ud83d\ude00", SET);
    text("a pair behind the limit", a252 + "bbb\ud83d\ude00", a252 + "bbb", TRUNCATED);
    text("many pairs", "\ud83d\ude00".repeat(200), "\ud83d\ude00".repeat(64), TRUNCATED);
    in("long keys are equal after the cut", () -> {
      String key = "k".repeat(126) + "\u00ef";
      expect(SET, ThreadContext.setLabel(key, "1"));
      expect(TRUNCATED, ThreadContext.setLabel(key + "one", "2"));
      expect(TRUNCATED, ThreadContext.setLabel("k".repeat(127) + "\u00ef", "3"));
      labels(key, "2", "k".repeat(127), "3");
    });
  }

  private static void scopes() throws InterruptedException {
    in("a scope brings back what was there", () -> {
      ThreadContext.put(1, 2);
      ThreadContext.setLabel("tenant", "acme");
      try (var outer = Labels.with("tenant", "globex", "route", "/pay")) {
        expect(SET, outer.result());
        ThreadContext.setLabel("inner", "x");
        ThreadContext.put(3, 4);
        try (var inner = Labels.with("tenant", "initech")) {
          ThreadContext.clearLabels();
          throw new IllegalStateException("a handler that fails");
        }
      } catch (IllegalStateException error) {
        // Both scopes are closed now.
      }
      labels("span-id", "1", "root-span-id", "2", "tenant", "acme");
    });
    in("scopes that are open", () -> {
      Labels.with("a", "1");
      Labels.with("b", "2", "a", "3");
      labels("a", "3", "b", "2");
    });
    in("closed in the wrong order", () -> {
      ThreadContext.setLabel("kept", "yes");
      var outer = Labels.with("a", "1");
      var inner = Labels.with("b", "2");
      outer.close();
      expect(SET, outer.result());
      inner.close();
      expect(NO_SCOPE, inner.result());
      outer.close();
      labels("kept", "yes");
    });
    in("closed by another thread", () -> {
      var scope = Labels.with("a", "1");
      Thread other = new Thread(scope::close);
      other.start();
      other.join();
      expect(NO_SCOPE, scope.result());
      labels("a", "1");
    });
    in("cut in a scope", () -> {
      expect(TRUNCATED, Labels.with("a", "b".repeat(300)).result());
      labels("a", "b".repeat(256));
    });
    in("a thousand scopes deep", () -> {
      List<Labels.Scope> all = new ArrayList<>();
      for (int i = 0; i < 1000; i++) all.add(Labels.with("depth", Integer.toString(i)));
      for (int i = 999; i > 500; i--) all.get(i).close();
      labels("depth", "500");
    });
  }

  private static void attributes() throws InterruptedException {
    in("ContextSetter", () -> {
      ContextSetter setter = new ContextSetter(List.of("user.id", "type", "user.id"));
      expect(1, setter.offsetOf("type"));
      expect(-1, setter.offsetOf("other"));
      expect(true, setter.setContextValue("user.id", "alice"));
      expect(true, setter.setContextValue(1, "api"));
      expect(false, setter.setContextValue("other", "x"));
      expect(false, setter.setContextValue(2, "x"));
      expect(false, setter.setContextValue(-1, "x"));
      expect(true, setter.clearContextValue(0));
      expect(false, setter.clearContextValue("other"));
      labels("type", "api");
    });
    in("ContextSetter refuses", () -> {
      expectRefused("span-id");
      expectRefused("");
      expectRefused("k".repeat(129));
      expectRefused("1", "2", "3", "4", "5", "6", "7", "8", "9");
      labels();
    });
  }

  private static void missing() {
    if (Labels.problem() == null)
      problem("there is a library");
    expect(NO_LIBRARY, ThreadContext.put(1, 2));
    expect(NO_LIBRARY, ThreadContext.setLabel("a", "b"));
    expect(NO_LIBRARY, ThreadContext.removeLabel("a"));
    expect(NO_LIBRARY, ThreadContext.clearLabels());
    expect(NO_LIBRARY, ThreadContext.clearTrace());
    try (var one = Labels.with("a", "b"); var two = Labels.with("a", "b", "c", "d")) {
      expect(NO_LIBRARY, one.result());
      expect(NO_LIBRARY, two.result());
    }
    expect(false, new ContextSetter(List.of("a")).setContextValue(0, "b"));
    System.out.println(Labels.problem());
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments.length > 0 && arguments[0].equals("missing")) {
      missing();
    } else if (Labels.problem() != null) {
      problem(Labels.problem());
    } else {
      single();
      trace();
      texts();
      scopes();
      attributes();
    }
    for (String each : problems) System.out.println("problem: " + each);
    if (arguments.length == 0)
      Truth.stay();
    over.countDown();
    System.exit(problems.isEmpty() ? 0 : 1);
  }
}
