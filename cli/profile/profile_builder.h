// Makes a Profile of samples. Stacks, label sets and threads are interned as they arrive, so that
// memory grows with their variety, not with time (unless samples are kept with their time: all
// for a lossless recording, a bounded number for the page).
//
// Raw bytes are looked up first; only those that are new are decoded. Rows of the last few samples
// are looked up together with later samples. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/profile/byte_cache.h"
#include "cli/profile/index_table.h"
#include "cli/profile/label_rules.h"
#include "cli/profile/profile.h"
#include "cli/profile/time_accounts.h"
#include "sampling/sampler.h"
#include "sources/label_codec.h"

namespace labelscope::cli {

// What the builder needs to know about the process of a sample. The recorder owns one for each
// process; the caches belong to the builder.
struct ProcessContext {
  // The module at a user address, or kNoIndex.
  virtual Index module_at(Address address) = 0;
  virtual Index kernel_module() = 0;
  // Changes when addresses may belong to something else (AddressSpace::epoch).
  virtual std::uint64_t address_epoch() const = 0;
  // Changes when label bytes may mean something else: publisher indices, or numbers of keys.
  // publisher() translates publisher indices to Process::publishers.
  virtual std::uint64_t publisher_epoch() const = 0;
  virtual std::uint8_t publisher(std::uint8_t index) const = 0;
  // Changes when publisher indices may mean something else.
  virtual std::uint64_t plan_epoch() const { return 0; }
  // The index of what explains waits, among Process::publishers.
  virtual std::uint8_t scheduler() { return 0; }
  virtual ~ProcessContext() = default;
  // Decodes label bytes (label_codec.h) of this process. May change publisher_epoch().
  virtual Observation decode(std::span<const std::byte> bytes) { return decode_label_bytes(bytes); }

  struct Caches {
    std::uint64_t address_epoch = 0;
    std::uint64_t publisher_epoch = 0;
    ByteCache user_stacks;
    ByteCache labels;
    std::unordered_map<std::uint64_t, Index> locations;  // by address and LS_FRAME_BY_FP
    std::unordered_map<std::int32_t, Index> threads;
  } caches;
};

// What the builder needs to know about a process for the totals of its waits.
struct ProcessOfWaits {
  ProcessContext* process = nullptr;  // null if it was let go
  LabelSet labels;                    // its own, which all its waits have
  std::uint8_t scheduler = 0;         // ProcessContext::scheduler()
};
ProcessOfWaits process_of_waits(ProcessContext& process);
using FindProcessOfWaits = std::function<ProcessOfWaits(Pid)>;

class ProfileBuilder {
 public:
  // `timed_samples`: how many samples have a row each, with their time; later ones share rows.
  // `period_ns`: between two samples of a thread that runs, on average. `kinds`: of the samples
  // that will come; each is a value type, whether or not any come.
  ProfileBuilder(std::size_t timed_samples, std::uint64_t period_ns, LabelRules rules = {},
                 std::span<const ls_sample_kind> kinds = kOnCpuOnly)
      : timed_samples_(timed_samples), rules_(std::move(rules)), accounts_(profile_, period_ns) {
    profile_.values.clear();
    value_of_kind_.fill(kNoValue);
    for (const ls_sample_kind kind : kinds) static_cast<void>(value_of(kind));
  }
  ProfileBuilder(const ProfileBuilder&) = delete;
  ProfileBuilder& operator=(const ProfileBuilder&) = delete;

  void add(const Sample& sample, ProcessContext& process);
  TimeAccounts& accounts() {
    enter_waiting();
    return accounts_;
  }

  std::uint64_t samples() const { return samples_; }
  std::uint64_t labelled() const { return labelled_; }
  std::span<const Location> locations() const { return profile_.locations; }
  // How the label rules have changed the labels of all samples.
  const LabelChanges& label_changes() const { return label_changes_; }
  const MetKeys& met_keys() const { return met_keys_; }  // keys that the label rules have met
  // The number of samples with label bytes that gave no label, by reason: the sampler counted them
  // as labelled.
  using Outcomes = std::array<std::uint64_t, LS_OUTCOME_COUNT>;
  const Outcomes& undecoded() const { return undecoded_; }
  // Gives a number to these labels (WaitTotal). What they mean is decided at the end if the process
  // has the same plan then, and otherwise now.
  void name_labels(std::uint64_t number, std::span<const std::byte> label_bytes,
                   ProcessContext& process);
  // Fits the weights of waits, which have errors of chance, to their totals.
  void add_totals(std::span<const WaitTotal> totals, const FindProcessOfWaits& find);
  // Takes what is known of who made threads wait. Call it before add_totals().
  void add_blame(std::span<const BlameTotal> totals, const FindProcessOfWaits& find);
  // Settles the accounts and moves out threads, locations, stacks, label sets and rows, and the
  // ledger of time. The caller fills in the rest of the Profile.
  Profile take(const KernelTotals& totals = {});

 private:
  struct Decoded {  // the result of decoding label bytes
    Index label_set;
    std::uint32_t flags;
    LabelChanges changes;
    ls_outcome outcome;
  };
  Index intern_thread(const Sample& sample, ProcessContext& process);
  Index intern_stack(const Sample& sample, ProcessContext& process);
  Index intern_frames(const StackView& frames, ProcessContext& process);
  Index intern_location(Address address, Index module, bool by_frame_pointer = false);
  const Decoded& decode(const Sample& sample, ProcessContext& process);
  Index intern_label_set(LabelSet labels);
  struct Numbered {
    std::vector<std::byte> label_bytes;
    std::uint64_t plan_epoch = 0;
    Observation meaning;  // at that epoch
  };
  // What a number of labels means: the labels, and the outcome.
  struct Meaning {
    LabelSet labels;
    std::uint8_t outcome;
  };
  bool is_known(std::uint64_t number) const;
  Meaning meaning_of_number(std::uint64_t number, const ProcessOfWaits& of);
  WaitRow row_of(const WaitTotal& total, const ProcessOfWaits& of);
  // A sample whose row is not looked up yet, because the memory for that is on its way. To stand
  // still until it comes would take as long as the rest of the sample, if there are many rows.
  struct Waiting {
    SampleRow row;
    std::uint64_t hash = 0;
    Pid pid{};
    Tid tid{};
    std::uint64_t time_ns = 0;
    std::uint64_t thread_ns = 0;
    std::uint64_t weight_ns = 0;
  };
  void let_wait(const Waiting& sample);
  void enter(const Waiting& sample);
  // Gives all samples that wait their rows, so that rows and accounts are complete.
  void enter_waiting();
  void weigh(const Waiting& sample, Index row);
  std::uint8_t value_of(ls_sample_kind kind);

  static constexpr std::uint8_t kNoValue = UINT8_MAX;

  std::size_t timed_samples_;
  LabelRules rules_;
  LabelChanges label_changes_;
  MetKeys met_keys_;
  std::uint64_t samples_ = 0;
  std::uint64_t labelled_ = 0;
  Outcomes undecoded_{};
  std::array<std::uint8_t, LS_SAMPLE_KIND_COUNT> value_of_kind_{};  // index in Profile::values
  std::uint64_t weighed_ns_ = 0;    // weight of samples that have one of their own
  std::uint64_t unsampled_ns_ = 0;  // time of a kind that has no sample
  Profile profile_;
  TimeAccounts accounts_;
  std::vector<Decoded> decoded_;
  std::unordered_map<std::uint64_t, Numbered> numbered_;  // by WaitTotal::labels
  // These index profile_'s tables of the same names.
  IndexTable stacks_;
  IndexTable label_sets_;
  IndexTable locations_;
  IndexTable rows_;
  // A ring: the n-th sample that waits is at n modulo its size.
  static constexpr std::size_t kMostWaiting = 8;
  std::array<Waiting, kMostWaiting> waiting_;
  std::size_t waited_ = 0;   // samples that have begun to wait
  std::size_t entered_ = 0;  // of these, those that have their row
  std::string scratch_;
};

}  // namespace labelscope::cli
