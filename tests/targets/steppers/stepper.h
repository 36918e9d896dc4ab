/* Writers that are wrong, or right, in exactly one way, each in a file of its own. A line that a
 * check must find is marked
 *
 *     ... // expect LS050 in name_of_the_function
 *
 * and a check that steps through the program finds these and nothing else. A writer is built into
 * the program, or as a library that the program calls, with and without optimization. */
#ifndef LABELSCOPE_STEPPER_H
#define LABELSCOPE_STEPPER_H

#include "customlabels/label_abi.h"

#define EXPORT __attribute__((visibility("default")))
#define NOINLINE __attribute__((noinline))

/* A store that stays a single store, in its place. */
#define STORE(place, value) (*(volatile __typeof__(place)*)&(place) = (value))

/* All stores that come before it in the source are done before it, and none that come after. */
#define PUBLISH(set)                       \
  do {                                     \
    __asm__ volatile("" ::: "memory");     \
    STORE(custom_labels_current_set, set); \
    __asm__ volatile("" ::: "memory");     \
  } while (0)

/* Each writer defines these calls of its interface. */
void stepper_begin(void);      /* once for each thread */
void stepper_update(int turn); /* the update that is tested, for turns 0, 1, 2, ... */
void stepper_end(void);

/* A program may define these calls to declare an update. Here they are in the program. */
void labelscope_update_begin(void);
void labelscope_update_end(void);

#endif
