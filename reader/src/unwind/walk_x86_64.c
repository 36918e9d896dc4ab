#define __TARGET_ARCH_x86
#define LS_WALK ls_walk_x86_64
#include "unwind/walk_one.h"
