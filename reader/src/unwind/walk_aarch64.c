#define __TARGET_ARCH_arm64
#define LS_WALK ls_walk_aarch64
#include "unwind/walk_one.h"
