// What libbpf would print, kept: its last words are part of an error, and a library prints nothing.
#pragma once

#include <string>

namespace labelscope {

// Captures libbpf's messages from construction to destruction; one at a time in a process, the
// others wait. The previous printer is put back.
class LibbpfLog {
 public:
  LibbpfLog();
  ~LibbpfLog();
  LibbpfLog(const LibbpfLog&) = delete;
  LibbpfLog& operator=(const LibbpfLog&) = delete;

  // The end of the log, on one line: what an error needs of it.
  std::string last_words() const;
  // Where the kernel's verifier refused a program: its last lines, on one. Empty: it was not asked,
  // or refused nothing.
  std::string verdict() const;
};

}  // namespace labelscope
