/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* This is the Custom Labels ABI v1: what a process exposes so that a reader outside of it can read
 * the labels of its threads.
 *
 * Source: the ABI document, version 1 (writer-lib/ABI.md explains it with an example). The header
 * is plain C with a fixed layout and no functions, and is shared by the writer, the reader and the
 * BPF programs. Both processors that the ABI supports (x86-64, aarch64) are 64-bit little-endian,
 * so a size_t and a pointer are 8 bytes here. */
#ifndef CUSTOMLABELS_LABEL_ABI_H
#define CUSTOMLABELS_LABEL_ABI_H

/* NOLINTBEGIN(modernize-*): this header is C. */

/* Dynamic symbol, 4 bytes, constant value CUSTOM_LABELS_ABI_VERSION. */
#define CUSTOM_LABELS_VERSION_SYMBOL "custom_labels_abi_version"
/* Dynamic symbol, thread-local, 8 bytes: a pointer to the thread's current label set, or null. */
#define CUSTOM_LABELS_CURRENT_SET_SYMBOL "custom_labels_current_set"
#define CUSTOM_LABELS_ABI_VERSION 1

/* What a library's file name must match (extended regular expression, searched at the end of the
 * name). */
#define CUSTOM_LABELS_LIBRARY_NAME_REGEX "libcustomlabels.*\\.so$|customlabels\\.node$"

#ifndef __VMLINUX_H__ /* it has the kernel's size_t, and types that stddef.h contradicts */
#include <stddef.h>
#endif

/* A string is bytes of any value. If buf is NULL, it is absent. A string of length 0 that is
 * present has a non-null buf. */
typedef struct {
  size_t len;
  const unsigned char* buf;
} custom_labels_string_t;

/* If key.buf is NULL, the reader ignores this element. value.buf must not be NULL when the key is
 * present. */
typedef struct {
  custom_labels_string_t key;
  custom_labels_string_t value;
} custom_labels_label_t;

/* There are `count` elements at `storage`. The first of two equal keys counts. Only the writer uses
 * `capacity`. */
typedef struct {
  custom_labels_label_t* storage;
  size_t count;
  size_t capacity;
} custom_labels_labelset_t;

#if defined(__cplusplus)
static_assert(sizeof(custom_labels_label_t) == 32 && sizeof(custom_labels_labelset_t) == 24,
              "ABI v1 is defined for 64-bit processes");
#else
_Static_assert(sizeof(custom_labels_label_t) == 32 && sizeof(custom_labels_labelset_t) == 24,
               "ABI v1 is defined for 64-bit processes");
#endif

/* NOLINTEND(modernize-*) */
#endif /* CUSTOMLABELS_LABEL_ABI_H */
