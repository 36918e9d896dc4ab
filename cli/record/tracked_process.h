// One process of a recording: its mappings, its plan, and when to plan it again.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/process/process_labels.h"
#include "cli/profile/address_space.h"
#include "cli/profile/profile.h"
#include "cli/profile/profile_builder.h"
#include "labelscope/ids.h"
#include "labelscope/plan.h"
#include "process/one_look.h"

namespace labelscope::cli {

// Gives each publisher of a process an index for the whole recording. Labels refer to a publisher
// by its index in a plan. But each plan counts anew, and the labels of older plans stay.
class PublisherTable {
 public:
  // Returns the index of each publisher of the plan, in the plan's order. Copies of one file
  // (dlmopen) have an index each. A library that is loaded again gets its old index.
  std::vector<std::uint8_t> adopt(const std::vector<Publisher>& publishers);
  // The index of labels that come from no file.
  std::uint8_t adopt_source(ProcessSource source);
  // Titles by index, mostly paths. A file with several copies is there several times.
  const std::vector<std::string>& paths() const { return paths_; }
  // Continues another table, whose titles are known.
  void resume(std::vector<std::string> paths) {
    paths_ = std::move(paths);
    load_biases_.resize(paths_.size());
  }

 private:
  std::vector<std::string> paths_;
  std::vector<Address> load_biases_;  // the last load bias of each index
};

class TrackedProcess final : public ProcessContext {
 public:
  using Clock = std::chrono::steady_clock;
  // Events come later than this only if the sampler cannot keep up.
  static constexpr std::chrono::milliseconds kLatestEvent{1000};

  // `planner` is that of another process of the recording. `variables` are those that the user has
  // named as labels.
  TrackedProcess(ProcessKey key, ModuleTable& modules, const Planner& planner = Planner(),
                 const std::vector<VariableSpec>& variables = {});
  // Makes a child right after fork, with the same mappings and recipes as its parent.
  TrackedProcess(ProcessKey key, const TrackedProcess& parent);

  ProcessKey key() const { return key_; }
  Pid pid() const { return key_.pid; }
  ProcessKey server() const { return server_ ? *server_ : key(); }  // Process::server
  // The first process of its server is recorded, too, under this key.
  void note_server(ProcessKey first) { server_ = first; }
  const std::string& comm() const { return comm_; }
  // The first thread has this name now, and so has the process. No name: it is not known.
  void note_name(std::string_view name) {
    if (name.empty() || comm_ == name) return;
    name_before_ = std::move(comm_);
    comm_ = name;
  }
  // Reads the name that it has now.
  void renew_name();
  // It got this name, if it has it, for the program that it is about to execute.
  void take_back_name(std::string_view name) {
    if (comm_ == name && !name_before_.empty()) comm_ = name_before_;
  }
  const std::vector<std::string>& publisher_paths() const { return publishers_.paths(); }
  const std::vector<ls_tls_recipe>& recipes() const { return recipes_; }
  const ProcessPlan& plan() const { return plan_; }
  // Whether its program was planned, and has nothing that may publish labels.
  bool publishes_nothing() const { return looked_at_ && !may_have_published_; }
  // The program that it runs now publishes nothing.
  void note_no_publisher() { looked_at_ = true; }
  // Whether labels came from one of its files.
  bool publishes() const;
  // The part of it that a profile has.
  Process summary() const;
  // Makes it a process that has ended, of which only the summary is known.
  void become(Process summary, bool publishes_nothing);
  bool maps_file(std::string_view part) const { return space_.maps_file(part); }
  // AddressSpace::renumber
  void renumber_modules(const std::vector<Index>& numbers, std::set<const void*>& done) {
    space_.renumber(numbers, done);
  }
  // AddressSpace::program
  Index program();

  // Reads the mappings and plans; for a new program it also reads the labels of the process. Fails
  // with kVanished if the process has ended, and with kPermission if the kernel does not let us
  // read it. `look` is one at this process that still holds, or null.
  Status refresh(ProcessLabelReader& labels, const OneLook* look = nullptr);
  void on_mapping(const Mapping& mapping, std::uint64_t time_ns);
  // It is about to go on as another program, with another key, and rows of its own. The name is
  // empty if it is not known.
  void begin_life(ProcessKey key, std::string_view name);
  void on_exec();
  void on_exit();
  // It does not answer, so nothing is read of it any more, and nothing that it has is let go:
  // closing a file can wait, too.
  void leave_out() { left_out_ = true; }
  bool is_left_out() const { return left_out_; }
  // The kernel had no room to announce some mappings of that time or later.
  void on_mappings_lost(std::uint64_t since_ns);
  // Some mappings were announced to nobody: they are read again, with the next plan.
  void read_mappings_later();
  // Addresses are of a sample of this time from now on.
  void look_up_at(std::uint64_t time_ns);
  bool ended() const { return ended_.has_value() || left_out_; }
  // Whether it has ended so long ago that no more events of it can come.
  bool is_over(Clock::time_point now) const {
    return ended_ && now - *ended_ > kLatestEvent && !left_out_;
  }
  // Whether it is time to plan (again), some time after a change.
  // Makes it due.
  void plan_soon();
  bool plan_due(Clock::time_point now) const {
    return !ended() && next_plan_ && now >= *next_plan_;
  }

  // Whether the labels of the process (process_labels.h) were read for the program that it runs
  // now.
  bool knows_own_labels() const { return own_labels_.has_value(); }
  void forget_own_labels() {
    if (own_labels_) ++publisher_epoch_;
    own_labels_.reset();
  }

  // Reads them again with each plan of the next half second: a worker that was forked just now is
  // about to become another user.
  void renew_own_labels() {
    renews_own_labels_ = true;
    plan_soon();
  }

  // The facts that the process has published about itself (process_facts.h); null: none.
  const ProcessFacts* facts() const { return plan_.facts.get(); }
  // Checks whether these have changed, if it is time to.
  void watch_facts(Clock::time_point now);
  // Reads them again. Returns true if they have changed.
  bool renew_facts(Clock::time_point now);

  // These implement ProcessContext.
  Index module_at(Address address) override;
  Index kernel_module() override { return modules_->kernel(); }
  std::uint64_t address_epoch() const override { return space_.epoch() + own_epoch_; }
  std::uint64_t publisher_epoch() const override { return publisher_epoch_; }
  std::uint64_t plan_epoch() const override { return plan_epoch_; }
  std::uint8_t scheduler() override { return publishers_.adopt_source(ProcessSource::kScheduler); }
  std::uint8_t publisher(std::uint8_t index) const override;
  // Adds the labels of the process.
  Observation decode(std::span<const std::byte> bytes) override;

 private:
  struct Live {
    std::unique_ptr<LiveProcess> process;
    bool asked = false;
  };
  // No two plans have the same, whichever process they are of: numbers of processes are used again.
  static std::uint64_t next_plan_epoch() {
    static std::uint64_t last = 0;
    return ++last;
  }
  FindProcess finder(Live& live) const;
  void plan_later();
  void adopt(ProcessPlan plan);
  bool adopt_facts(std::shared_ptr<const ProcessFacts> facts);
  void adopt(ProcessLabels labels);

  ProcessKey key_;
  std::optional<ProcessKey> server_;  // nothing until it is known
  ModuleTable* modules_;
  AddressSpace space_;
  std::string comm_;
  std::string name_before_;  // that it had before this one
  Planner planner_;
  // The keys that the user has given to variables; they are known before there is a plan.
  std::shared_ptr<const ProcessFacts> user_facts_;
  ProcessPlan plan_;
  std::vector<ls_tls_recipe> recipes_;
  PublisherTable publishers_;
  // By the publisher's place in the plan; after these, by ProcessSource.
  std::array<std::uint8_t, LS_MAX_PUBLISHERS + kProcessSources> publisher_of_recipe_{};
  // nullopt: not read yet for the program that it runs now
  std::optional<ProcessLabels> own_labels_;
  bool renews_own_labels_ = false;
  std::uint64_t publisher_epoch_ = 0;
  std::uint64_t plan_epoch_ = next_plan_epoch();
  std::uint64_t own_epoch_ = 0;
  std::optional<Clock::time_point> next_plan_;
  std::chrono::milliseconds plan_delay_{};
  Clock::time_point last_plan_{};
  Clock::time_point last_reload_{};
  Clock::time_point last_facts_{};
  Clock::time_point next_facts_{};
  bool looked_at_ = false;  // its program was planned
  bool may_have_published_ = false;
  bool left_out_ = false;
  std::optional<Clock::time_point> ended_;
};

}  // namespace labelscope::cli
