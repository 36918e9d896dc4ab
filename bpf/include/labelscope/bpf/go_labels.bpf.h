/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This is the walk of the labels of Go's runtime/pprof: from the goroutine that a thread runs to
 * pairs of strings, which then become a label block like those of ABI v1. The reader's
 * go_labels/go_walk.h has the drawing and the rules; go_walk.cc follows them in C++, and
 * tests/native compares the two.
 *
 *                                                                  reads
 *   slot -> g -> m -> curg -> labels                               5, or 6 if g is not curg
 *                               +-> slice -> pairs                 2
 *                               +-> map -> head -> buckets         2, and 1 for each bucket
 *
 * A bucket is one round of a loop (ls_each), whose body the verifier checks only once with
 * bpf_loop(). A round leaves its state for the next in struct ls_go, in map memory, for the same
 * reason as struct ls_walk. */
#ifndef LABELSCOPE_GO_LABELS_BPF_H
#define LABELSCOPE_GO_LABELS_BPF_H

#include "labelscope/bpf/custom_labels.bpf.h"
#include "labelscope/tls_recipe.h"

/* At most so many buckets are looked at: LS_MAX_SLOTS labels never need more. */
#define LS_GO_BUCKETS 64
#define LS_GO_CELLS 8

struct ls_go_string {
  __u64 address;
  __u64 length;
};
/* The bytes from m.procid to m.curg. */
struct ls_go_thread {
  __u64 procid;
  __u64 between[14];
  __u64 curg;
};
/* The bytes from g.gopc to g.labels. */
struct ls_go_goroutine {
  __u64 gopc;
  __u64 ancestors;
  __u64 startpc;
  __u64 between[5];
  __u64 labels;
};
struct ls_go_slice {
  __u64 address;
  __u64 length;
  __u64 capacity;
};
struct ls_go_map {
  __u64 count;
  __u8 flags;
  __u8 log_buckets;
  __u16 overflows;
  __u32 seed;
  __u64 buckets;
  __u64 old_buckets;
};
#define LS_GO_BEING_WRITTEN 4
#define LS_GO_SAME_SIZE 8
#define LS_GO_KNOWN_FLAGS 15
#define LS_GO_MOST_LOG_BUCKETS 32
struct ls_go_bucket {
  __u8 marks[LS_GO_CELLS];
  struct ls_go_string keys[LS_GO_CELLS];
  struct ls_go_string values[LS_GO_CELLS];
  __u64 overflow;
};
LS_ASSERT(sizeof(struct ls_go_thread) == 128);
LS_ASSERT(sizeof(struct ls_go_goroutine) == 72);
LS_ASSERT(sizeof(struct ls_go_map) == 32);
LS_ASSERT(sizeof(struct ls_go_bucket) == 272);

/* The state of one walk. */
struct ls_go {
  __u64 least_mark;
  __u64 wanted; /* labels to look at */
  __u64 array;  /* of buckets */
  __u64 array_length;
  __u64 number;    /* of the next bucket in it */
  __u64 overflow;  /* the bucket to look at before that, or 0 */
  __u64 old_array; /* the array to look at after `array`, or 0 */
  __u64 old_length;
  __u64 in_old;
  struct ls_go_thread thread;
  struct ls_go_goroutine goroutine;
  struct ls_go_slice slice;
  struct ls_go_map map;
  struct ls_go_bucket bucket;
};

/* Returns 1 if the number is not 0. It has no branch, because the verifier would follow both ways
 * for each string. */
static __always_inline __u64 ls_is_some(__u64 number) {
  __u64 negative = -number;
  ls_keep_together(negative);
  return (number | negative) >> 63;
}

/* Go's empty strings have no address, which in the form of ABI v1 would mean no string at all; and
 * bytes without an address would become an empty string. */
static __always_inline void ls_put_go_string(custom_labels_string_t* out, __u64 address,
                                             __u64 length) {
  __u64 nowhere = ls_is_some(address) ^ 1;
  out->len = length | -(nowhere & ls_is_some(length));
  out->buf = (const unsigned char*)(unsigned long)(address | nowhere);
}

/* Takes one entry, still in Go's form. */
static __always_inline void ls_take_go_cell(struct ls_walk* walk, const struct ls_go* go,
                                            __u32 cell) {
  ls_reload();
  __u64 at = walk->slot_count;
  ls_keep_together(at);
  if (at >= LS_MAX_SLOTS || at >= go->wanted) return;
  struct ls_go_string* strings = (struct ls_go_string*)&walk->slots[at];
  strings[0] = go->bucket.keys[cell];
  strings[1] = go->bucket.values[cell];
  walk->slot_count++;
}

/* The argument of a round. */
struct ls_rounds_of_go {
  const struct ls_memory* memory;
  struct ls_walk* walk;
  struct ls_go* go;
  _Bool failed;
};

/* Goes on to the next bucket of the arrays. Returns its address, or 0. */
static __always_inline __u64 ls_next_go_bucket(struct ls_go* go) {
  if (go->number >= go->array_length) {
    if (!go->old_array) return 0;
    go->array = go->old_array;
    go->array_length = go->old_length;
    go->number = 0;
    go->old_array = 0;
    go->in_old = 1;
  }
  return go->array + go->number++ * sizeof(go->bucket);
}

LS_ROUND ls_read_go_bucket(__u32 i, void* argument) {
  struct ls_rounds_of_go* rounds = (struct ls_rounds_of_go*)argument;
  struct ls_walk* walk = rounds->walk;
  struct ls_go* go = rounds->go;
  (void)i;
  ls_reload();
  if (walk->slot_count >= go->wanted) return 1;
  __u64 address = go->overflow;
  _Bool first = !address;
  if (first) address = ls_next_go_bucket(go);
  if (!address) return 1;
  if (!ls_read_user(rounds->memory, &go->bucket, sizeof(go->bucket), address)) {
    rounds->failed = 1;
    return 1;
  }
  go->overflow = go->bucket.overflow;
  __u64 mark = go->bucket.marks[0];
  if (first && go->in_old && mark + 3 >= go->least_mark && mark < go->least_mark) {
    go->overflow = 0; /* its entries are in the new buckets */
    return 0;
  }
#ifdef __clang__
  /* Kernels up to 6.1 refuse a loop whose last instruction falls through into its first one, and
   * the compiler may lay this one out so. */
#pragma clang loop unroll(full)
#endif
  for (__u32 cell = 0; cell < LS_GO_CELLS; cell++) {
    if (go->bucket.marks[cell] >= go->least_mark) ls_take_go_cell(walk, go, cell);
  }
  return 0;
}

static __always_inline __u64 ls_wanted_of_go(struct ls_walk* walk, __u64 count) {
  if (count <= LS_MAX_SLOTS) return count;
  walk->flags |= LS_TRUNCATED_SLOTS;
  return LS_MAX_SLOTS;
}

static __always_inline __u32 ls_read_go_map(const struct ls_memory* memory, struct ls_walk* walk,
                                            struct ls_go* go, __u64 labels) {
  struct ls_go_map* map = &go->map;
  __u64 address = 0;

  if (!ls_read_user(memory, &address, sizeof(address), labels)) return LS_UNREADABLE_NOT_RESIDENT;
  if (address == 0) return LS_UNLABELLED;
  if (!ls_read_user(memory, map, sizeof(*map), address)) return LS_UNREADABLE_NOT_RESIDENT;
  ls_reload();
  if (map->count == 0) return LS_UNLABELLED;
  if (map->flags & ~LS_GO_KNOWN_FLAGS || map->flags & LS_GO_BEING_WRITTEN ||
      map->log_buckets > LS_GO_MOST_LOG_BUCKETS || map->buckets == 0 ||
      (map->old_buckets && map->log_buckets == 0))
    return LS_UNREADABLE_MALFORMED;
  go->wanted = ls_wanted_of_go(walk, map->count);
  go->array = map->buckets;
  go->array_length = 1ULL << map->log_buckets;
  go->old_array = map->old_buckets;
  go->old_length = map->flags & LS_GO_SAME_SIZE ? go->array_length : go->array_length / 2;
  go->number = 0;
  go->overflow = 0;
  go->in_old = 0;
  walk->slot_count = 0;
  struct ls_rounds_of_go rounds = {memory, walk, go, 0};
  ls_each(LS_GO_BUCKETS, ls_read_go_bucket, &rounds);
  if (rounds.failed) return LS_UNREADABLE_NOT_RESIDENT;
  ls_reload();
  return walk->slot_count < go->wanted ? LS_UNREADABLE_MALFORMED : LS_LABELLED;
}

static __always_inline __u32 ls_read_go_slice(const struct ls_memory* memory, struct ls_walk* walk,
                                              struct ls_go* go, __u64 labels) {
  struct ls_go_slice* slice = &go->slice;

  if (!ls_read_user(memory, slice, sizeof(*slice), labels)) return LS_UNREADABLE_NOT_RESIDENT;
  ls_reload();
  if (slice->length == 0) return LS_UNLABELLED;
  if (slice->address == 0 || slice->length > slice->capacity) return LS_UNREADABLE_MALFORMED;
  __u64 count = ls_wanted_of_go(walk, slice->length);
  ls_keep_together(count);
  if (count > LS_MAX_SLOTS) return LS_UNREADABLE_MALFORMED; /* for the verifier */
  if (!ls_read_user(memory, walk->slots, count * sizeof(walk->slots[0]), slice->address))
    return LS_UNREADABLE_NOT_RESIDENT;
  walk->slot_count = count;
  return LS_LABELLED;
}

/* Turns a pair from Go's form into the form of ABI v1, in place. */
LS_ROUND ls_turn_go_pair(__u32 i, void* argument) {
  struct ls_rounds_of_go* rounds = (struct ls_rounds_of_go*)argument;
  struct ls_walk* walk = rounds->walk;
  ls_reload();
  if (i >= LS_MAX_SLOTS || i >= walk->slot_count) return 1;
  custom_labels_label_t* slot = &walk->slots[i];
  const struct ls_go_string* strings = (const struct ls_go_string*)slot;
  struct ls_go_string key = strings[0];
  struct ls_go_string value = strings[1];
  ls_put_go_string(&slot->key, key.address, key.length);
  ls_put_go_string(&slot->value, value.address, value.length);
  return 0;
}

static __always_inline _Bool ls_is_go_code(const struct ls_tls_recipe* recipe, __u64 address) {
  return address >= recipe->parameters[1] && address < recipe->parameters[2];
}

/* Fills the walk's `slots` with the pairs that become labels. Returns LS_LABELLED if there are
 * some. `place` is the address of the slot that leads to g, or with LS_IN_REGISTER g itself. */
static __always_inline __u32 ls_walk_go(const struct ls_memory* memory, struct ls_walk* walk,
                                        struct ls_go* go, struct ls_label_head* head,
                                        const struct ls_tls_recipe* recipe, __u64 place) {
  __u64 fields = recipe->parameters[0];
  __u64 g_m = fields & 0xffff;
  __u64 m_procid = fields >> 16 & 0xffff;
  __u64 g_labels = fields >> 32 & 0xffff;
  __u64 g = place;
  __u64 m = 0;
  __u64 its_m = 0;

  if (recipe->kind != LS_IN_REGISTER && !ls_read_user(memory, &g, sizeof(g), place))
    return LS_UNREADABLE_NOT_RESIDENT;
  if (g == 0) {
    head->flags |= LS_NO_GOROUTINE;
    return LS_UNLABELLED;
  }
  if (!ls_read_user(memory, &m, sizeof(m), g + g_m)) return LS_UNREADABLE_NOT_RESIDENT;
  if (m == 0) return LS_UNREADABLE_MALFORMED;
  if (!ls_read_user(memory, &go->thread, sizeof(go->thread), m + m_procid))
    return LS_UNREADABLE_NOT_RESIDENT;
  ls_reload();
  __u64 number = go->thread.procid ? ls_own_number(memory) : 0;
  if (number != 0 && go->thread.procid != number) return LS_UNREADABLE_MALFORMED;
  __u64 curg = go->thread.curg;
  if (go->thread.procid == 0 || curg == 0) {
    head->flags |= LS_NO_GOROUTINE;
    return LS_UNLABELLED;
  }
  its_m = m;
  if (curg != g && !ls_read_user(memory, &its_m, sizeof(its_m), curg + g_m))
    return LS_UNREADABLE_NOT_RESIDENT;
  if (its_m != m) return LS_UNREADABLE_MALFORMED;
  struct ls_go_goroutine* goroutine = &go->goroutine;
  __u64 before = sizeof(*goroutine) - sizeof(goroutine->labels);
  if (!ls_read_user(memory, goroutine, sizeof(*goroutine), curg + g_labels - before))
    return LS_UNREADABLE_NOT_RESIDENT;
  ls_reload();
  if ((goroutine->gopc || goroutine->startpc) &&
      !(ls_is_go_code(recipe, goroutine->gopc) && ls_is_go_code(recipe, goroutine->startpc)))
    return LS_UNREADABLE_MALFORMED;
  __u64 labels = goroutine->labels;
  if (labels == 0) return LS_UNLABELLED;
  go->least_mark = fields >> 48;
  __u32 outcome = go->least_mark ? ls_read_go_map(memory, walk, go, labels)
                                 : ls_read_go_slice(memory, walk, go, labels);
  if (outcome != LS_LABELLED) return outcome;
  struct ls_rounds_of_go rounds = {memory, walk, go, 0};
  ls_each(LS_MAX_SLOTS, ls_turn_go_pair, &rounds);
  return LS_LABELLED;
}

#endif /* LABELSCOPE_GO_LABELS_BPF_H */
