// This class has what the unwinder knows of each sampled process: its executable mappings, each
// with the table of its file.
//
//   set_process, exec, fork, mmap --> /proc/PID/maps --> files that are new --> TableBuilder
//                                           |                                       |
//                                           v                                       v
//                                     list of mappings <------------------- tables, in BPF maps
//                                           |
//                                           +--> BPF map unwind_processes, in one update
//
// A list is replaced as a whole. The old one is kept for a while: a BPF program may still search in
// it, and a child that was just forked has it.
#pragma once

#include <sys/stat.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bpf/unwind/mapped_since.h"
#include "bpf/unwind/stack_tables.h"
#include "bpf/unwind/table_builder.h"
#include "bpf/unwind/unwind_tables.h"
#include "labelscope/target.h"
#include "process/one_look.h"

namespace labelscope {

class UnwindProcesses final : public StackTables {
 public:
  UnwindProcesses(std::unique_ptr<UnwindTables> tables, TableBuilder::Build build,
                  LifeOf life)
      : tables_(std::move(tables)),
        builder_(std::move(build)),
        life_of_(std::move(life)) {}

  void set(Pid pid, const OneLook* look) override;
  void expect(UniqueFd program) override;
  void forget(Pid pid) override;
  void on_fork(ProcessKey parent, ProcessKey child) override;
  void on_mapping(Pid pid) override;
  void on_report(const MappingEvent& mapping) override;
  std::optional<std::size_t> doubtful_frame(Pid pid, std::uint32_t list, std::uint64_t time_ns,
                                            std::span<const std::uint64_t> frames) const override;
  void look_again(Pid pid) override {
    // One that is about to be executed has no mappings of its own yet.
    if (processes_.contains(pid)) refresh(pid, nullptr);
  }
  void wait(std::chrono::milliseconds timeout) override;
  void want(Pid pid, Address address) override;
  void work() override;
  std::chrono::milliseconds longest_wait() const override;
  int ready_fd() const override { return builder_.ready_fd(); }
  void add_counts(Counts& counts) const override;

  struct Totals {
    std::uint64_t tables = 0;
    std::uint64_t row_bytes = 0;
    std::uint64_t failed = 0;    // files whose table could not be made
    std::uint64_t no_room = 0;   // files for whose table there is no room
    std::uint64_t evicted = 0;   // tables of files that no process had loaded any more
    std::uint64_t mappings = 0;  // mappings for which there was no room
  };
  const Totals& totals() const { return totals_; }

 private:
  using Clock = std::chrono::steady_clock;
  // A file: what identifies it, its table, and where its code is.
  struct File {
    std::optional<std::uint32_t> module;
    std::uint64_t text = 0;
    std::vector<LoadSegment> segments;
    std::uint64_t users = 0;  // mappings in lists
    bool is_asked_for = false;
    bool without_room = false;  // set if its table found no room when it was made
    Clock::time_point unused_since;
  };
  using FileKey = std::array<std::uint64_t, 5>;
  // This key stands for every file that the builder has no room for now.
  static constexpr std::uint64_t kLater = 0;
  // This stands for a file that is not mapped any more: the process is about to end, to execute
  // another program, or has unloaded it.
  static constexpr std::uint64_t kGone = ~0ULL;
  struct CodeMapping {
    Address start = 0;
    Address end = 0;
    std::uint64_t file_offset = 0;
    // key in files_, or nullopt if the program has made this code
    std::optional<std::uint64_t> file;
    FileId id;  // of what the code lies in: there are files that are no ELF files
  };
  struct List {
    ls_unwind_process process{};
    std::vector<std::uint64_t> files;
  };
  struct KnownProcess {
    std::vector<CodeMapping> mappings;
    std::shared_ptr<List> list;
    std::uint32_t life = 0;
    std::uint64_t read_ns = 0;  // when the reading of its mappings began
    std::uint64_t read_until_ns = 0;
    bool changed = false;       // set if its list must be made again
    bool without_room = false;  // set if its newest list found no room
    bool inherited = false;     // set if its mappings are those that its parent was known to have
    std::optional<std::uint64_t> wanted;  // the file for want of whose table a stack has ended
    Clock::time_point published;
    Clock::time_point began;   // when it was first seen, or has executed a program
    unsigned quick_looks = 0;  // since then
    std::optional<Clock::time_point> refresh_at;
    Clock::duration pause{};
  };

  std::optional<std::uint64_t> file_of(const LiveProcess& process, const Mapping& mapping,
                                       TableBuilder::Order order);
  std::optional<std::uint64_t> file_of(UniqueFd fd, const struct stat& status,
                                       TableBuilder::Order order);
  std::optional<std::uint64_t> vdso();
  std::uint64_t add_file(UniqueFd fd, TableBuilder::Order order);
  void refresh(Pid pid, const OneLook* look);
  void take_tables();
  bool has_wanted(const KnownProcess& process) const;
  void publish_changed(bool at_once);
  void publish(Pid pid, KnownProcess& process);
  void retire(std::shared_ptr<List> list);
  void drop_retired();
  void drop_files();
  bool evict();
  void ask_again();

  std::unique_ptr<UnwindTables> tables_;
  TableBuilder builder_;
  LifeOf life_of_;
  std::map<FileKey, std::uint64_t> keys_;
  std::map<std::uint64_t, File> files_;  // kLater is one of the keys
  std::optional<std::uint64_t> vdso_;
  std::map<Pid, KnownProcess> processes_;
  std::map<Pid, MappedSince> since_;  // of those that have, or had, a list
  struct Retired {
    Clock::time_point when;
    std::shared_ptr<List> list;
  };
  std::vector<Retired> retired_;
  Clock::time_point drop_files_at_;
  bool can_evict_more_ = false;
  std::uint64_t next_file_ = 1;
  Totals totals_;
};

}  // namespace labelscope
