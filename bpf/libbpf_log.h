// Keeps what libbpf would print. A library prints nothing, but errors need libbpf's last messages.
#pragma once

#include <string>

namespace labelscope {

// Captures libbpf's messages from construction to destruction, then puts the previous printer back.
// Only one exists at a time in a process; the constructor waits for the others.
class LibbpfLog {
 public:
  LibbpfLog();
  ~LibbpfLog();
  LibbpfLog(const LibbpfLog&) = delete;
  LibbpfLog& operator=(const LibbpfLog&) = delete;

  // The end of the log on one line, for an error.
  std::string last_words() const;
  // If the kernel's verifier has refused a program: its last lines, joined to one. Otherwise empty.
  std::string verdict() const;
};

}  // namespace labelscope
