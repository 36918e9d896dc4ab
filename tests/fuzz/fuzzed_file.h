// An input as an open file. There is one file for all inputs, because making one takes fifty times
// as long as most of what is done with it.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "labelscope/unique_fd.h"

class FuzzedFile {
 public:
  FuzzedFile(const std::uint8_t* data, std::size_t size) {
    std::size_t done = 0;
    while (done < size) {
      const ssize_t n = ::pwrite(file().get(), data + done, size - done, static_cast<off_t>(done));
      if (n <= 0) std::abort();  // out of memory, whatever the input
      done += static_cast<std::size_t>(n);
    }
    if (::ftruncate(file().get(), static_cast<off_t>(size)) != 0) std::abort();
  }
  // The descriptor is valid until the next input.
  labelscope::UniqueFd open() const {
    ::lseek(file().get(), 0, SEEK_SET);
    return labelscope::UniqueFd(::fcntl(file().get(), F_DUPFD_CLOEXEC, 3));
  }

 private:
  static const labelscope::UniqueFd& file() {
    static const labelscope::UniqueFd kFile(::memfd_create("fuzzed", MFD_CLOEXEC));
    return kFile;
  }
};
