// Work on a thread made for it: what ptrace has seized is let go at the latest when that ends.
#pragma once

#include <functional>

#include "labelscope/result.h"

namespace labelscope {

// Does it on a thread of its own, to which no signal is delivered: handlers of the program that we
// are in expect to run elsewhere. The caller hears its signals as before, so that Ctrl-C ends a
// program that reads memory which nobody supplies; but Ctrl-Z would stop a held thread with us.
// What `work` throws is thrown here.
Status run_on_own_thread(const std::function<void()>& work);

}  // namespace labelscope
