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
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cli/profile/byte_cache.h"
#include "cli/profile/fit_waits.h"
#include "cli/profile/index_table.h"
#include "cli/profile/label_rules.h"
#include "cli/profile/most_rows.h"
#include "cli/profile/numbered_labels.h"
#include "cli/profile/profile.h"
#include "cli/profile/time_accounts.h"
#include "cli/profile/used_part.h"
#include "sampling/sampler.h"
#include "sources/label_codec.h"

namespace labelscope::cli {

// What the builder needs to know about the process of a sample. The recorder owns one for each
// process; the caches belong to the builder.
struct ProcessContext {
  // The module at a user address. kNoIndex: there is none. kUnknownModule: it is not known which.
  virtual Index module_at(Address address) = 0;
  virtual Index kernel_module() = 0;
  // The place of a frame of a script, with its function. `value`: as in Frame. Equal addresses of a
  // module are one place; without a module it is a place of this process alone.
  virtual Location place_in_script(std::uint64_t value) {
    return {.address = value, .lines = {}, .kind = LS_FRAME_SCRIPT, .was_named = true};
  }
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

  // Its entry of Profile::processes; kNoIndex: it has none yet (ProfileBuilder::enter()).
  Index row = kNoIndex;
  // The thread that has a number now.
  struct KnownThread {
    Index row = kNoIndex;
    std::uint32_t identity = 0;  // as in Sample
  };
  struct Caches {
    std::uint64_t address_epoch = 0;
    std::uint64_t publisher_epoch = 0;
    ByteCache user_stacks;
    ByteCache labels;
    std::unordered_map<std::uint64_t, Index> locations;  // by Frame::word()
    std::unordered_set<std::uint64_t> unknown_modules;   // of these, those of kUnknownModule
    std::unordered_map<std::int32_t, KnownThread> threads;  // by number
  } caches;
  // Behind ProfileBuilder::keep().
  void renumber(const Renumbering& numbers);
};

// What the builder needs to know about a process for the totals of its waits.
struct ProcessOfWaits {
  ProcessContext* process = nullptr;  // null if it was let go
  LabelSet labels;                    // its own, which all its waits have
  std::uint8_t scheduler = 0;         // ProcessContext::scheduler()
  Index row = kNoIndex;               // ProcessContext::row
};
ProcessOfWaits process_of_waits(ProcessContext& process);
// Decodes label bytes. Publishers are those of the profile.
Observation meaning_of(std::span<const std::byte> label_bytes, ProcessContext& process);
using FindProcessOfWaits = std::function<ProcessOfWaits(ProcessKey)>;

class ProfileBuilder {
 public:
  // `timed_samples`: how many samples have a row each, with their time; later ones share rows.
  // `period_ns`: between two samples of a thread that runs, on average. `kinds`: of the samples
  // that will come; each is a value type, whether or not any come. `limits`: of what is kept of
  // waits.
  ProfileBuilder(std::size_t timed_samples, std::uint64_t period_ns, LabelRules rules = {},
                 std::span<const ls_sample_kind> kinds = kOnCpuOnly,
                 const WaitLimits& limits = {})
      : timed_samples_(timed_samples),
        rules_(std::move(rules)),
        limits_(limits),
        numbered_(rules_, limits.label_sets),
        accounts_(profile_, period_ns) {
    profile_.values.clear();
    value_of_kind_.fill(kNoValue);
    for (const ls_sample_kind kind : kinds) static_cast<void>(value_of(kind));
  }
  ProfileBuilder(const ProfileBuilder&) = delete;
  ProfileBuilder& operator=(const ProfileBuilder&) = delete;

  // Gives a process an entry of Profile::processes. The caller fills in all but the number when the
  // profile is taken.
  Index enter(Pid pid);
  // Renames the first thread of the process, if it has this name.
  void rename_first(const ProcessContext& process, std::string_view from, std::string_view to);
  // Gives the process an entry if it has none.
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
  // The keys that the label rules have met.
  MetKeys met_keys() const {
    MetKeys all = met_keys_;
    all.insert(numbered_.met_keys().begin(), numbered_.met_keys().end());
    return all;
  }
  // The number of samples with label bytes that gave no label, by reason: the sampler counted them
  // as labelled.
  using Outcomes = std::array<std::uint64_t, LS_OUTCOME_COUNT>;
  const Outcomes& undecoded() const { return undecoded_; }
  // The number of samples with an address whose module is not known.
  std::uint64_t in_lost_mappings() const { return in_lost_mappings_; }
  // What labels have numbers (WaitTotal).
  NumberedLabels& numbered() { return numbered_; }
  const NumberedLabels& numbered() const { return numbered_; }
  // Takes totals of waits, and what is known of who made threads wait. They may come in parts: with
  // `early` others follow, and what these mean is decided for good.
  void add_totals(std::span<const WaitTotal> totals, const FindProcessOfWaits& find,
                  bool early = false);
  void add_blame(std::span<const BlameTotal> totals, const FindProcessOfWaits& find,
                 bool early = false);
  // Waits that have no total, or no blame, of their own, because there are more than WaitLimits.
  struct LeftOut {
    std::uint64_t waits = 0;
    std::uint64_t blamed_waits = 0;
  };
  const LeftOut& left_out() const { return left_out_; }
  // Ends a window: settles the accounts, and fits the weights of waits, which have errors of
  // chance, to their totals. Returns the window's rows, with the ledger of their time, among all
  // that is known. The caller completes them, and calls move_out() or begin_window().
  // Totals whose label sets have no name yet wait for another window, unless it is the last one.
  Profile& end_window(const KernelTotals& totals, bool is_last = true);
  // Moves everything out: nothing comes any more.
  Profile move_out();
  Profile take(const KernelTotals& totals = {}) {
    end_window(totals);
    return move_out();
  }
  // Moves out the window's rows, with copies of what they use. What comes now is of the next one.
  // `numbers`: of what they use.
  Profile begin_window(const Renumbering& numbers);
  // Keeps the names of a location, so that windows to come have them.
  void keep_names(Index location, const Location& named) {
    profile_.locations[location].lines = named.lines;
    profile_.locations[location].was_named = true;
  }
  // Forgets what has no number, and calls all else by its number. Call it between two windows, and
  // ProcessContext::renumber() for each process.
  void keep(const Renumbering& numbers);
  // Behind begin_window(): forgets numbers of label sets that no window has used for a while, but
  // not those `in_use`. Returns those that the kernel is to forget.
  std::vector<std::uint64_t> forget_numbers(std::span<const std::uint64_t> in_use);
  // Whether label bytes were decoded so often, for ever new processes, that it is worth to do it
  // again for those that are still there.
  bool is_crowded() const {
    constexpr std::size_t kFew = 65'536;
    return decoded_.size() > kFew + 2 * profile_.label_sets.size();
  }

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
  Index location_of(Frame frame, ProcessContext& process);
  Index intern_location(Location location);
  const Decoded& decode(const Sample& sample, ProcessContext& process);
  Decoded decode_number(const Sample& sample, ProcessContext& process);
  Index intern_label_set(LabelSet labels);
  std::optional<WaitRow> row_of(const WaitTotal& total, const ProcessOfWaits& of, bool early);
  Index set_with_reason(LabelSet labels, const WaitTotal& total, const ProcessOfWaits& of);
  void fit_totals(bool is_last);
  void keep_largest_totals();
  // A sample whose row is not looked up yet, because the memory for that is on its way. To stand
  // still until it comes would take as long as the rest of the sample, if there are many rows.
  struct Waiting {
    SampleRow row;
    std::uint64_t hash = 0;
    ls_sample_kind kind = LS_ON_CPU;
    ProcessKey process;
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
  WaitLimits limits_;
  NumberedLabels numbered_;
  LabelChanges label_changes_;
  MetKeys met_keys_;
  std::uint64_t samples_ = 0;
  std::uint64_t labelled_ = 0;
  Outcomes undecoded_{};
  std::uint64_t in_lost_mappings_ = 0;
  std::unordered_set<Index> with_unknown_module_;  // stacks
  std::array<std::uint8_t, LS_SAMPLE_KIND_COUNT> value_of_kind_{};  // index in Profile::values
  std::uint64_t weighed_ns_ = 0;    // time of samples that bring it along
  std::uint64_t unsampled_ns_ = 0;  // time of a kind that has no sample
  Profile profile_;
  TimeAccounts accounts_;
  std::vector<Decoded> decoded_;
  Decoded of_number_{};  // the last one
  // Label sets with the reason of a wait, by NumberedLabels::Settled::set and system call.
  using SetsWithReason = std::unordered_map<std::uint64_t, Index, SecretHash>;
  std::map<std::pair<std::uint8_t, ls_sample_kind>, SetsWithReason> with_reason_;
  std::size_t sets_with_reason_ = 0;
  // Programs wait in a few system calls. So many for each label set have a place.
  static constexpr std::size_t kMostReasons = 8;
  LeftOut left_out_;
  bool has_totals_ = false;
  UnknownWaits unknown_{};
  // Those whose numbers are not known yet, because a record was lost that is sent again. They have
  // waited for so many windows.
  template <class Total>
  struct Unnamed {
    Total total;
    unsigned windows = 0;
  };
  static constexpr unsigned kWindowsUnnamed = 8;
  std::vector<Unnamed<WaitTotal>> unnamed_;
  std::vector<Unnamed<BlameTotal>> unnamed_blame_;
  // So many rows were left when equal ones were last merged.
  std::size_t merged_waits_ = 0;
  std::size_t merged_blame_ = 0;
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
