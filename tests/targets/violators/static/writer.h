/* Shared by all static violators. It includes no system header, since they are compiled for other
 * processors, too. */
#ifndef LABELSCOPE_TESTS_TARGETS_VIOLATORS_STATIC_WRITER_H
#define LABELSCOPE_TESTS_TARGETS_VIOLATORS_STATIC_WRITER_H

struct label_set;

/* Code that uses the variable, so that a library has a relocation for it. */
#define SET_LABELS(variable)                               \
  void set_labels(const struct label_set* set) {           \
    *(const struct label_set* volatile*)&(variable) = set; \
  }

#endif
