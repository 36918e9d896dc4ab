/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The walks of all label sources put their blocks (label_blocks.h) here, one behind the other. */
#ifndef LABELSCOPE_LABEL_ROOM_BPF_H
#define LABELSCOPE_LABEL_ROOM_BPF_H

#include "labelscope/bpf/read_user.bpf.h"
#include "labelscope/label_blocks.h"

/* No user address on either processor has this bit or a higher one (5-level page tables have 57-bit
 * addresses). */
#define LS_ADDRESS_END (1ULL << 57)
#define LS_BLOCK_LIMIT \
  (sizeof(struct ls_label_block) + LS_MAX_LABELS * sizeof(struct ls_label_ref) + LS_MAX_LABEL_BYTES)
#define LS_BLOCKS_LIMIT (LS_MAX_PUBLISHERS * LS_BLOCK_LIMIT)
/* The verifier's bound of a place is that of a cursor plus that of a length. So the room is one
 * length longer than is ever used. A program that needs more room behind the labels, as the sampler
 * does for stacks, defines LS_ROOM_BEHIND_BLOCKS before it includes this header. */
#ifndef LS_ROOM_BEHIND_BLOCKS
#define LS_ROOM_BEHIND_BLOCKS LS_MAX_LABEL_BYTES
#endif
#define LS_BLOCKS_ROOM (LS_BLOCKS_LIMIT + LS_ROOM_BEHIND_BLOCKS)
LS_ASSERT(LS_ROOM_BEHIND_BLOCKS >= LS_MAX_LABEL_BYTES);

/* The result of a walk. This part goes into a record. */
struct ls_labels {
  struct ls_label_head head;
  __u8 blocks[LS_BLOCKS_ROOM];
};

/* Returns the place of a cursor. A walk counts before it writes, so a cursor is always within
 * bounds. The verifier does not know that, and up to Linux 5.15 it forgets the bounds of a number
 * that the compiler spills to the stack. So each use loads the cursor and checks it again. */
static __always_inline __u8* ls_at(struct ls_labels* out, __u64 cursor) {
  ls_keep_together(cursor);
  if (cursor > LS_BLOCKS_LIMIT) cursor = 0;
  return out->blocks + cursor;
}

/* Pads the block that ends at `end` with zeros to a multiple of 8 bytes, and counts it. */
static __always_inline void ls_end_block(struct ls_labels* out, __u64 end) {
  __u8* fill = ls_at(out, end);
  for (__u32 i = 0; i < 8; i++) fill[i] = 0;
  out->head.size = (end + 7) & ~7ULL;
  out->head.block_count++;
}

#endif /* LABELSCOPE_LABEL_ROOM_BPF_H */
