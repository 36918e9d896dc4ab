// Runs work on a thread of its own. ptrace belongs to a thread: when this one ends, the kernel lets
// go of everything that it has seized.
#pragma once

#include <functional>

#include "labelscope/result.h"

namespace labelscope {

// The new thread gets no signals, because the program's signal handlers expect to run on other
// threads. The calling thread gets them as before: so Ctrl-C still ends a program whose read hangs.
// But it does not get Ctrl-Z, which would stop us while we hold a thread. Throws what `work`
// throws.
Status run_on_own_thread(const std::function<void()>& work);

}  // namespace labelscope
