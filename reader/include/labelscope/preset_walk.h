/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/* This runs the program of a preset (preset_program.h), one step at a time. It is the same code in
 * the kernel and in the reader. What differs between them is how memory is read, so whoever
 * includes this defines before:
 *
 *   struct ls_preset_host                              whatever these functions need
 *   int ls_preset_address(host, __u64* address)      makes an address of a pointer as the program
 *                                                      has it; false if no process has such a one
 *   int ls_preset_read(host, out, size, address)     at most LS_PRESET_BLOCK_BYTES
 *   long ls_preset_read_text(host, out, address)       a C string: its bytes with the NUL; one more
 *                                                      than LS_PRESET_TEXT if it was cut to that;
 *                                                      0 if it cannot be read
 *   void ls_preset_copy(out, from, size)               at most LS_VARIABLE_MAX_BYTES
 *   __u8* ls_preset_room(host, used)                   where labels go, behind `used` bytes
 *   __u32 ls_preset_thread_number(host)
 *   int ls_preset_thread_name(host, out)               LS_PRESET_NAME bytes; false if not known
 *
 * A run is begun by ls_preset_begin(); then ls_preset_run_step() is called with 0, and with what it
 * has returned, until that is LS_PRESET_END; ls_preset_outcome() says how it went. The number only
 * grows, so there are LS_PRESET_STEPS calls at most.
 *
 * The state of a run is in memory and not on the stack: to the verifier of the kernel, which
 * follows values in registers, all steps look alike. It checks one, not 64. For the same reason
 * each index is cut to its range right where it is used. */
#ifndef LABELSCOPE_PRESET_WALK_H
#define LABELSCOPE_PRESET_WALK_H

#include "labelscope/outcome.h"
#include "labelscope/preset_program.h"

/* NOLINTBEGIN(modernize-*,google-readability-casting): this header is C. */
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#define LS_PRESET_INLINE static inline __attribute__((always_inline))
#define LS_PRESET_END LS_PRESET_STEPS
#define LS_PRESET_TEXT (LS_VARIABLE_MAX_BYTES + 1)
/* What one label takes at most. */
#define LS_PRESET_LABEL_ROOM (sizeof(struct ls_preset_label) + LS_PRESET_TEXT)

/* This stands before a check that only the verifier needs. It keeps the compiler from checking one
 * copy of the number and using another. */
#define LS_PRESET_KEEP(number) __asm__ volatile("" : "+r"(number))

/* One run of a program for one thread. */
struct ls_preset_run {
  struct ls_preset_program program;
  __u64 slot[LS_PRESET_SLOTS];
  __u64 located; /* the address that the recipe leads to */
  __u64 thread_pointer;
  __u32 filled[LS_PRESET_BLOCKS]; /* how many bytes of each block were read */
  __u32 used;                     /* bytes of labels so far, with their head */
  __u32 count;                    /* labels so far */
  __u32 outcome;                  /* LS_LABELLED as long as nothing has failed */
  __u32 flags;                    /* enum ls_sample_flag */
  /* Eight bytes are read at once, also from the last byte of a block. */
  __u8 block[LS_PRESET_BLOCKS * LS_PRESET_BLOCK_BYTES + 8];
};

/* Begins a run of the program that is in it. */
LS_PRESET_INLINE void ls_preset_begin(struct ls_preset_run* run, __u64 located,
                                      __u64 thread_pointer) {
  for (__u32 i = 0; i < LS_PRESET_SLOTS; i++) run->slot[i] = 0;
  for (__u32 i = 0; i < LS_PRESET_BLOCKS; i++) run->filled[i] = 0;
  run->located = located;
  run->thread_pointer = thread_pointer;
  run->used = sizeof(struct ls_preset_labels);
  run->count = 0;
  run->outcome = LS_LABELLED;
  run->flags = 0;
}

/* How the run has ended. Its labels count only if this is LS_LABELLED. */
LS_PRESET_INLINE __u32 ls_preset_outcome(const struct ls_preset_run* run) {
  if (run->outcome != LS_LABELLED) return run->outcome;
  return run->count ? LS_LABELLED : LS_UNLABELLED;
}

LS_PRESET_INLINE __u32 ls_preset_fail(struct ls_preset_run* run, __u32 outcome) {
  run->outcome = outcome;
  return LS_PRESET_END;
}

/* Reads to `out`, which has room for 8 bytes, or for a block. */
LS_PRESET_INLINE __u32 ls_preset_fetch(struct ls_preset_host* host, void* out, __u32 size,
                                       __u64 address) {
  if (!ls_preset_address(host, &address)) return LS_UNREADABLE_MALFORMED;
  if (!ls_preset_read(host, out, size, address)) return LS_UNREADABLE_NOT_RESIDENT;
  return LS_LABELLED;
}

LS_PRESET_INLINE int ls_preset_is_width(__u32 width) {
  return width == 1 || width == 2 || width == 4 || width == 8;
}

/* Makes a number of its lower bytes. `size` may have the flag LS_PRESET_SIGNED. */
LS_PRESET_INLINE __u64 ls_preset_extend(__u64 bytes, __u32 size) {
  __u32 shift = (64 - 8 * (size & 15)) & 63;
  if (size & LS_PRESET_SIGNED) return (__u64)((__s64)(bytes << shift) >> shift);
  return bytes << shift >> shift;
}

/* Returns 8 bytes, the least significant first. They may lie at any address. */
LS_PRESET_INLINE __u64 ls_preset_word(const __u8* bytes) {
  __u64 word = 0;
  for (__u32 i = 0; i < 8; i++) word |= (__u64)bytes[i] << (8 * i);
  return word;
}

/* Returns what slot[from] is compared with. */
LS_PRESET_INLINE __u64 ls_preset_other(const struct ls_preset_run* run,
                                       const struct ls_preset_step* step) {
  return step->size & LS_PRESET_WITH_SLOT ? run->slot[step->to % LS_PRESET_SLOTS] : step->value;
}

LS_PRESET_INLINE int ls_preset_holds(const struct ls_preset_step* step, __u64 a, __u64 b) {
  switch (step->size & ~LS_PRESET_WITH_SLOT) {
    case LS_PRESET_EQUAL:
      return a == b;
    case LS_PRESET_NOT_EQUAL:
      return a != b;
    case LS_PRESET_GREATER:
      return a > b;
    case LS_PRESET_LESS:
      return a < b;
    case LS_PRESET_SIGNED_GREATER:
      return (__s64)a > (__s64)b;
    case LS_PRESET_SIGNED_LESS:
      return (__s64)a < (__s64)b;
    case LS_PRESET_ANY_BIT:
      return (a & b) != 0;
    case LS_PRESET_NO_BIT:
      return (a & b) == 0;
    default:
      return 0;
  }
}

/* Reads a number into its slot. */
LS_PRESET_INLINE __u32 ls_preset_do_read(struct ls_preset_host* host, struct ls_preset_run* run,
                                         const struct ls_preset_step* step, __u64 address) {
  __u64 bytes = 0;
  __u64 width = step->size & 15;
  if (!ls_preset_is_width(width)) return LS_UNREADABLE_MALFORMED;
  LS_PRESET_KEEP(width);
  if (width > sizeof(bytes)) return LS_UNREADABLE_MALFORMED; /* for the verifier */
  __u32 outcome = ls_preset_fetch(host, &bytes, width, address);
  if (outcome == LS_LABELLED)
    run->slot[step->to % LS_PRESET_SLOTS] = ls_preset_extend(bytes, step->size);
  return outcome;
}

LS_PRESET_INLINE __u32 ls_preset_do_block(struct ls_preset_host* host, struct ls_preset_run* run,
                                          const struct ls_preset_step* step, __u64 address) {
  __u32 number = step->to % LS_PRESET_BLOCKS;
  __u64 size = step->value;
  LS_PRESET_KEEP(size);
  if (size > LS_PRESET_BLOCK_BYTES) return LS_UNREADABLE_MALFORMED;
  run->filled[number] = 0;
  /* It is below 2^16: NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result) */
  __u32 outcome = ls_preset_fetch(host, run->block + number * LS_PRESET_BLOCK_BYTES, size, address);
  if (outcome == LS_LABELLED) run->filled[number] = size;
  return outcome;
}

/* Returns `size` bytes of a block, or null if the block does not have them. */
LS_PRESET_INLINE const __u8* ls_preset_in_block(struct ls_preset_run* run,
                                                const struct ls_preset_step* step, __u64 size) {
  __u32 number = step->from % LS_PRESET_BLOCKS;
  __u32 offset = (__u32)step->offset % LS_PRESET_BLOCK_BYTES;
  if (offset != (__u32)step->offset || offset + size > run->filled[number]) return 0;
  /* It is below 2^16: NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result) */
  return run->block + number * LS_PRESET_BLOCK_BYTES + offset;
}

LS_PRESET_INLINE __u32 ls_preset_do_field(struct ls_preset_run* run,
                                          const struct ls_preset_step* step) {
  __u32 width = step->size & 15;
  if (!ls_preset_is_width(width)) return LS_UNREADABLE_MALFORMED;
  const __u8* bytes = ls_preset_in_block(run, step, width);
  run->slot[step->to % LS_PRESET_SLOTS] =
      bytes ? ls_preset_extend(ls_preset_word(bytes), step->size) : 0;
  return LS_LABELLED;
}

LS_PRESET_INLINE __u32 ls_preset_do_find(struct ls_preset_host* host, struct ls_preset_run* run,
                                         const struct ls_preset_step* step, __u64 node) {
  __u64 found = 0;
  for (__u32 i = 0; i < LS_PRESET_NODES; i++) {
    __u32 number = 0;
    __u64 next = 0;
    if (i >= step->size || node == 0) break;
    __u32 outcome = ls_preset_fetch(host, &number, sizeof(number), node + (__u64)step->offset);
    if (outcome == LS_LABELLED && number == (__u32)step->value) {
      found = node;
      break;
    }
    if (outcome == LS_LABELLED)
      outcome = ls_preset_fetch(host, &next, sizeof(next), node + (step->value >> 32));
    if (outcome != LS_LABELLED) return outcome;
    node = next;
  }
  run->slot[step->to % LS_PRESET_SLOTS] = found;
  return LS_LABELLED;
}

/* Returns where the bytes of the next label go, or null if there is no room. */
LS_PRESET_INLINE __u8* ls_preset_next_label(struct ls_preset_host* host,
                                            struct ls_preset_run* run) {
  if (run->used <= LS_MAX_LABEL_BYTES - LS_PRESET_LABEL_ROOM)
    return ls_preset_room(host, run->used) + sizeof(struct ls_preset_label);
  run->flags |= LS_TRUNCATED_LABELS;
  return 0;
}

LS_PRESET_INLINE __u32 ls_preset_end_label(struct ls_preset_run* run,
                                           const struct ls_preset_step* step, __u8* bytes,
                                           __u32 size) {
  struct ls_preset_label* head = (struct ls_preset_label*)(bytes - sizeof(*head));
  head->number = step->to;
  head->kind = step->size;
  head->size[0] = (__u8)size;
  head->size[1] = (__u8)(size >> 8);
  run->used += sizeof(*head) + size;
  run->count++;
  return LS_LABELLED;
}

LS_PRESET_INLINE __u32 ls_preset_emit(struct ls_preset_host* host, struct ls_preset_run* run,
                                      const struct ls_preset_step* step, __u64 number) {
  __u32 width = (__u32)step->offset & 15;
  if (!ls_preset_is_width(width)) return LS_UNREADABLE_MALFORMED;
  __u8* bytes = ls_preset_next_label(host, run);
  if (!bytes) return LS_LABELLED;
  for (__u32 i = 0; i < 8; i++) bytes[i] = (__u8)(number >> (8 * i));
  return ls_preset_end_label(run, step, bytes, width);
}

LS_PRESET_INLINE __u32 ls_preset_emit_text(struct ls_preset_host* host, struct ls_preset_run* run,
                                           const struct ls_preset_step* step, __u64 address) {
  __u64 size = step->value;
  __u32 flags = 0;
  __u8* bytes = ls_preset_next_label(host, run);
  if (!bytes) return LS_LABELLED;
  if (step->size == LS_VARIABLE_TEXT) {
    if (!ls_preset_address(host, &address)) return LS_UNREADABLE_MALFORMED;
    long length = ls_preset_read_text(host, bytes, address);
    if (length <= 0) return LS_UNREADABLE_NOT_RESIDENT;
    if (length > LS_PRESET_TEXT) {
      length = LS_PRESET_TEXT;
      run->flags |= LS_TRUNCATED_BYTES;
    }
    return ls_preset_end_label(run, step, bytes, (__u32)length);
  }
  if (step->size == LS_VARIABLE_SLICE) size = run->slot[step->value % LS_PRESET_SLOTS];
  if (size >= 1ULL << 57) return LS_UNREADABLE_MALFORMED;
  if (size > LS_VARIABLE_MAX_BYTES) flags = LS_TRUNCATED_BYTES;
  LS_PRESET_KEEP(size);
  if (size > LS_VARIABLE_MAX_BYTES) size = LS_VARIABLE_MAX_BYTES;
  if (size != 0) {
    __u32 outcome = ls_preset_fetch(host, bytes, (__u32)size, address);
    if (outcome != LS_LABELLED) return outcome;
  }
  run->flags |= flags;
  return ls_preset_end_label(run, step, bytes, (__u32)size);
}

LS_PRESET_INLINE __u32 ls_preset_emit_field(struct ls_preset_host* host, struct ls_preset_run* run,
                                            const struct ls_preset_step* step) {
  __u64 size = step->value;
  LS_PRESET_KEEP(size);
  if (size > LS_VARIABLE_MAX_BYTES) return LS_UNREADABLE_MALFORMED;
  const __u8* from = ls_preset_in_block(run, step, size);
  __u8* bytes = ls_preset_next_label(host, run);
  if (!from || !bytes) return LS_LABELLED;
  ls_preset_copy(bytes, from, (__u32)size);
  return ls_preset_end_label(run, step, bytes, (__u32)size);
}

LS_PRESET_INLINE __u32 ls_preset_emit_name(struct ls_preset_host* host, struct ls_preset_run* run,
                                           const struct ls_preset_step* step) {
  __u8* bytes = ls_preset_next_label(host, run);
  if (!bytes || !ls_preset_thread_name(host, bytes)) return LS_LABELLED;
  return ls_preset_end_label(run, step, bytes, LS_PRESET_NAME);
}

/* Does what is no comparison. */
LS_PRESET_INLINE __u32 ls_preset_do(struct ls_preset_host* host, struct ls_preset_run* run,
                                    const struct ls_preset_step* step) {
  __u64* to = &run->slot[step->to % LS_PRESET_SLOTS];
  __u64 from = run->slot[step->from % LS_PRESET_SLOTS];
  __u64 address = from + (__u64)(__s64)step->offset;
  switch (step->op) {
    case LS_PRESET_SET:
      *to = step->value;
      return LS_LABELLED;
    case LS_PRESET_THREAD:
      *to = run->thread_pointer + step->value;
      return run->thread_pointer ? LS_LABELLED : LS_UNREADABLE_NO_THREAD_POINTER;
    case LS_PRESET_LOCATED:
      *to = run->located + step->value;
      return LS_LABELLED;
    case LS_PRESET_NUMBER:
      *to = ls_preset_thread_number(host);
      return LS_LABELLED;
    case LS_PRESET_ADD:
      *to = from + step->value;
      return LS_LABELLED;
    case LS_PRESET_SUM:
      *to = from + run->slot[step->value % LS_PRESET_SLOTS];
      return LS_LABELLED;
    case LS_PRESET_READ:
      return ls_preset_do_read(host, run, step, address);
    case LS_PRESET_BLOCK:
      return ls_preset_do_block(host, run, step, address);
    case LS_PRESET_FIELD:
      return ls_preset_do_field(run, step);
    case LS_PRESET_FIND:
      return ls_preset_do_find(host, run, step, from);
    case LS_PRESET_EMIT:
      return ls_preset_emit(host, run, step, from);
    case LS_PRESET_EMIT_TEXT:
      return ls_preset_emit_text(host, run, step, address);
    case LS_PRESET_EMIT_FIELD:
      return ls_preset_emit_field(host, run, step);
    case LS_PRESET_EMIT_NAME:
      return ls_preset_emit_name(host, run, step);
    default:
      return LS_UNREADABLE_MALFORMED;
  }
}

/* Does step number `at`. Returns the number of the next one. */
LS_PRESET_INLINE __u32 ls_preset_run_step(struct ls_preset_host* host, struct ls_preset_run* run,
                                          __u32 at) {
  __u64 number = at;
  LS_PRESET_KEEP(number);
  if (number >= LS_PRESET_STEPS || number >= run->program.count) return LS_PRESET_END;
  const struct ls_preset_step* step = &run->program.step[number];
  if (step->op != LS_PRESET_UNLESS && step->op != LS_PRESET_NEED) {
    __u32 outcome = ls_preset_do(host, run, step);
    return outcome == LS_LABELLED ? at + 1 : ls_preset_fail(run, outcome);
  }
  if (ls_preset_holds(step, run->slot[step->from % LS_PRESET_SLOTS], ls_preset_other(run, step)))
    return at + 1;
  if (step->op == LS_PRESET_NEED) return ls_preset_fail(run, LS_UNREADABLE_STALE);
  /* Backwards never, whatever the program says. */
  return step->offset < 0 || step->offset > LS_PRESET_STEPS ? LS_PRESET_END
                                                            : at + 1 + (__u32)step->offset;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif
/* NOLINTEND(modernize-*,google-readability-casting) */

#endif /* LABELSCOPE_PRESET_WALK_H */
