/* The scopes that a thread has entered and not left.
 *
 * In C a scope keeps what it found in a variable on the stack. A call from Java returns, and its
 * stack with it, so each thread has a list of what its scopes found, and Java holds a ticket: a
 * number that no other scope of the process has had. A ticket that is not in the calling thread's
 * list changes nothing. That is so for one that was left before, and for one of another thread,
 * which includes a virtual thread that went on in another carrier.
 *
 * A thread of the operating system may run several threads of Java in turn: virtual ones, or those
 * that C code attaches and detaches. What one has not left does not concern the next. */
#ifndef CUSTOMLABELS_JAVA_SCOPES_H
#define CUSTOMLABELS_JAVA_SCOPES_H

#include "customlabels/writer.h"

/* Enters a scope with these labels, and leaves those that another thread of Java has entered here
 * before. *ticket is 0 if the result is below zero: then there is nothing
 * to leave. A thread's first scope at a depth allocates memory, later ones do not; it is freed when
 * the thread ends. */
custom_labels_result_t scopes_enter(int64_t thread, const custom_labels_label_t* labels, size_t n,
                                    uint64_t* ticket);

/* Leaves the scope, and those that were entered after it and not left. Returns ABSENT if the
 * calling thread has no such scope. */
custom_labels_result_t scopes_leave(uint64_t ticket);

#endif /* CUSTOMLABELS_JAVA_SCOPES_H */
