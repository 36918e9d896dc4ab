// A program that the tests of the unwinder make: its unwind table, its memory, and its stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "native/native_unwind.h"
#include "support/catch.h"
#include "support/fake_memory.h"
#include "unwind_table/build_unwind_table.h"

extern "C" long (*fake_probe_read_user)(void* out, __u32 size, __u64 address);

namespace labelscope::test {

inline constexpr Address kStack = 0x7ffc'0000'0000;
inline constexpr Address kText = 0x5555'0000'0000;

struct Row {
  std::uint64_t offset;  // from the start of the text
  ls_unwind_rule rule;
};

inline constexpr ls_unwind_rule kGap{};
inline constexpr ls_unwind_rule kRoot{LS_CFA_SP, LS_RA_NONE, LS_FP_SAME, 0, 0, 0, 0};

constexpr ls_unwind_rule of_kind(ls_cfa_kind kind) {
  ls_unwind_rule rule{};
  rule.cfa = kind;
  return rule;
}
// The CFA is sp + offset, and the return address is below it (x86-64).
constexpr ls_unwind_rule sp(int offset) {
  return {LS_CFA_SP, LS_RA_AT_CFA, LS_FP_SAME, 0, offset, 0, -8};
}
// The function has pushed its caller's frame pointer.
constexpr ls_unwind_rule sp_with_fp(int offset) {
  return {LS_CFA_SP, LS_RA_AT_CFA, LS_FP_AT_CFA, 0, offset, -16, -8};
}
constexpr ls_unwind_rule fp() { return {LS_CFA_FP, LS_RA_AT_CFA, LS_FP_AT_CFA, 0, 16, -16, -8}; }

// A program of one file, and the stack of its thread.
class Program {
 public:
  explicit Program(bool arm = false) : arm_(arm) {
    latest_ = &memory;
    fake_probe_read_user = [](void* out, __u32 size, __u64 address) -> long {
      return latest_->read(address, {static_cast<std::byte*>(out), size}) ? 0 : -14;
    };
  }

  void rows(const std::vector<Row>& given, std::uint64_t size = 1 << 16) {
    rows_.assign(LS_UNWIND_BLOCK_ROWS, 0);
    pages_.clear();
    rules_.clear();
    std::uint16_t next = 0;
    for (std::uint64_t page = 0; page < size; page += 1 << 16) {
      ls_unwind_page head{0, next, 0};
      for (std::size_t i = 0; i < given.size(); ++i) {
        const bool in_force =
            given[i].offset < page && (i + 1 == given.size() || given[i + 1].offset > page);
        const bool here = given[i].offset >= page && given[i].offset < page + (1 << 16);
        if (!here && !in_force) continue;
        rows_[next++] =
            LS_UNWIND_ROW(in_force ? 0U : static_cast<std::uint32_t>(given[i].offset - page),
                          static_cast<std::uint32_t>(i));
        ++head.count;
      }
      pages_.push_back(head);
    }
    for (const Row& row : given) rules_.push_back(row.rule);
    modules_ = {{0, static_cast<__u32>(pages_.size()), 0, static_cast<__u32>(rules_.size())}};
    map(kText, kText + size, 0);
  }
  void map(Address first, Address end, std::uint32_t module) {
    mappings_.push_back({first, end, first, module, kList});
  }

  // Puts words above sp, one after the other.
  void push(Address at, const std::vector<std::uint64_t>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) memory.put(at + 8 * i, words[i]);
  }

  native_stack unwind(std::uint64_t pc) {
    start.pc = pc;
    start.sp = start.sp == 0 ? kStack : start.sp;
    const native_tables tables{mappings_.data(),
                               modules_.data(),
                               pages_.data(),
                               rows_.data(),
                               rules_.data(),
                               static_cast<__u32>(mappings_.size()),
                               static_cast<__u32>(modules_.size()),
                               static_cast<__u32>(pages_.size()),
                               1,
                               static_cast<__u32>(rules_.size())};
    const ls_unwind_process process{0, static_cast<__u32>(mappings_.size()), list, 0};
    const native_stack found = arm_ ? native_unwind_arm64(&tables, &process, &start)
                                    : native_unwind_x86(&tables, &process, &start);
    CHECK(found.plain_steps_wrong == 0);
    return found;
  }

  FakeMemory memory;
  native_start start{};
  __u32 list = kList;
  std::vector<ls_unwind_mapping>& mappings() { return mappings_; }
  std::vector<ls_unwind_module>& modules() { return modules_; }

 private:
  static constexpr __u32 kList = 7;
  static inline const FakeMemory* latest_ = nullptr;  // that is what reads are of
  bool arm_;
  std::vector<ls_unwind_mapping> mappings_;
  std::vector<ls_unwind_module> modules_;
  std::vector<ls_unwind_page> pages_;
  std::vector<std::uint32_t> rows_;
  std::vector<ls_unwind_rule> rules_;
};

inline std::vector<std::uint64_t> frames_of(const native_stack& stack) {
  return {stack.frames, stack.frames + stack.count};
}

using Frames = std::vector<std::uint64_t>;

}  // namespace labelscope::test
