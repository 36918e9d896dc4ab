/**
 * Labels for the threads of a Java program, which profilers read from outside (Custom Labels ABI
 * v1).
 *
 * <p>{@link customlabels.Labels} labels a piece of work in a scope, {@link
 * customlabels.ThreadContext} sets single labels and the trace context of the calling thread, and
 * {@link customlabels.ContextSetter} sets those of a fixed list.
 *
 * <p>Every change is published at once: a profiler that interrupts the thread, at any instruction,
 * reads the labels from before the change or those after it. Calls never throw because a label
 * cannot be set: their {@link customlabels.LabelResult} has the reason, and the program runs on.
 *
 * <p>Labels belong to a thread of the operating system. New threads have none, and a virtual thread
 * (since Java 21) sets those of its carrier: they do not follow it.
 */
package customlabels;
