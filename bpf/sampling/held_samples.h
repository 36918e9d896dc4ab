// HeldSamples keeps samples whose labels are being read again, until the answer or the end comes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "bpf/wire/records.h"

namespace labelscope {

class HeldSamples {
 public:
  // A record has its labels and 8 bytes for each frame: about 1 KiB with usual stacks, 5 KiB more
  // with the deepest. More samples than this wait only if the disk that the pages come from is far
  // behind.
  static constexpr std::size_t kMost = 4096;

  // Copies the record of a sample. Returns false if there is no room, and keeps nothing.
  bool hold(const SampleRecord& sample, std::span<const std::byte> record);
  // Hands out the sample that the answer belongs to, with the answer's labels. Returns false if
  // there is no such sample.
  bool settle(const AnswerRecord& answer, const std::function<void(const SampleRecord&)>& hand_out);
  // Hands out samples as LS_UNREADABLE_VANISHED, in the order of their time: their answers were
  // lost, or will be the same. Those are all that are left; those of a process that has ended, or
  // executed another program; those of a thread that has ended, behind whose end none may come.
  void give_up(const std::function<void(const SampleRecord&)>& hand_out);
  void give_up_of(Pid pid, const std::function<void(const SampleRecord&)>& hand_out);
  void give_up_of(const ThreadEndRecord& end,
                  const std::function<void(const SampleRecord&)>& hand_out);
  std::size_t size() const { return held_.size(); }

 private:
  struct Held {
    ProcessKey process;
    std::uint32_t identity = 0;
    std::uint64_t time_ns = 0;
    std::vector<std::uint64_t> words;  // the record, which must be 8-aligned
  };
  template <class Which>
  void give_up_those(Which which, const std::function<void(const SampleRecord&)>& hand_out);

  std::unordered_map<std::uint64_t, Held> held_;  // by the number of the repeated read
};

}  // namespace labelscope
