/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The stack of a thread is read in windows. A read of user memory takes longer than the rest of a
 * step, whatever its size is, and the frames of some callers lie close together. So a read takes
 * what is above, too, and the next steps find their words here:
 *
 *   addresses  -->
 *   | frame | frame |  frame  | frame | frame     |
 *     |<-- window ---------------->|<-- window -->|
 *     56 bytes below what was asked for           end of the page
 *
 * A window ends with its page at the latest, so nothing of it is missing while the words that are
 * asked for are there. The thread does not run meanwhile, so its words do not change. */
#ifndef LABELSCOPE_STACK_WINDOW_H
#define LABELSCOPE_STACK_WINDOW_H

#define LS_WINDOW_WORDS 128
#define LS_WINDOW_BYTES (8 * LS_WINDOW_WORDS)
/* A function saves up to six registers below its return address, which may be asked for first. */
#define LS_WINDOW_BELOW 56

struct ls_stack_window {
  __u64 start; /* a multiple of 8 */
  __u64 size;  /* bytes that are here; 0 if there are none */
  /* A pair of words is read at once. The verifier knows that the first of them is in the window,
   * and not that the second is, so there is one word more. */
  __u64 words[LS_WINDOW_WORDS + 1];
};

/* Copies one word or two, if they are in the window. */
static __always_inline _Bool ls_find_words(const struct ls_stack_window* window, __u64* out,
                                           __u32 size, __u64 address) {
  __u64 offset = address - window->start;

  if (offset & 7 || window->size < size || offset > window->size - size) return 0;
  offset >>= 3;
  ls_keep_together(offset);
  offset &= LS_WINDOW_WORDS - 1;
  out[0] = window->words[offset];
  if (size > sizeof(*out)) out[1] = window->words[offset + 1];
  return 1;
}

/* Reads the window that has `address`. */
static __always_inline void ls_move_window(const struct ls_memory* memory,
                                           struct ls_stack_window* window, __u64 address) {
  __u64 in_page = address & 4095 & ~7ULL;
  __u64 below = in_page < LS_WINDOW_BELOW ? in_page : LS_WINDOW_BELOW;
  __u64 size = 4096 - (in_page - below);

  if (size > LS_WINDOW_BYTES) size = LS_WINDOW_BYTES;
  window->start = (address & ~7ULL) - below;
  window->size = 0;
  if (ls_read_user(memory, window->words, (__u32)size, window->start)) window->size = size;
}

/* Reads one word or two (`size` is 8 or 16). Returns 0 if they cannot be read. */
static __always_inline _Bool ls_read_words(const struct ls_memory* memory,
                                           struct ls_stack_window* window, __u64* out, __u32 size,
                                           __u64 address) {
  if (ls_find_words(window, out, size, address)) return 1;
  ls_move_window(memory, window, address);
  if (ls_find_words(window, out, size, address)) return 1;
  /* They are on two pages, or the address is no multiple of 8. */
  return ls_read_user(memory, out, size, address);
}

#endif /* LABELSCOPE_STACK_WINDOW_H */
