// The programs that measure waits (programs/off_cpu.bpf.h), in the order in which they are
// attached; they are detached in the reverse order.
#pragma once

namespace labelscope {

// Threads begin and end while these are attached one after the other, which takes some 0.1 ms each.
// What notes a thread comes after what sees its end: a thread that is noted at its creation, and
// whose last switch nobody sees, would wait until the recording ends. What notes a wait comes after
// what sees the wake-up. A thread that lives before the last of them has no waits.
inline constexpr const char* kWaitPrograms[] = {"on_waiter_exit", "on_wakeup", "on_switch",
                                                "on_wakeup_new"};

}  // namespace labelscope
