// When to plan a process again. The kernel announces a mapping before the loader has relocated the
// library, so one plan is not enough:
//
//   dlopen:   mmap ........ relocated ....
//   plans:    | at once   | 20 ms   | 100 ms   | 500 ms   | every second while a slot is empty
//
// The facts that the process publishes about itself, such as the names of its labels' keys, are
// read again: with each plan; when the time of their publication changes, which is checked once a
// second; and at once when a sample has a key without a name, but at most twice a second.
#include "cli/record/tracked_process.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "process/named_mappings.h"
#include "process/one_look.h"
#include "sources/label_source.h"

namespace labelscope::cli {
namespace {

// A label has one byte for its publisher's index. No real program loads more publishers.
constexpr std::size_t kLastIndex = UINT8_MAX;

constexpr std::chrono::milliseconds kFirstDelay{20};
constexpr std::chrono::milliseconds kLastDelay{500};
constexpr std::chrono::milliseconds kRetryDelay{1000};
constexpr int kDelayFactor = 5;
// For an address outside every known mapping (code made at run time), the mappings are read again,
// but no more often than this.
constexpr std::chrono::milliseconds kReloadInterval{100};
constexpr std::chrono::milliseconds kWatchInterval{1000};
// Searching the mappings for facts that may never be published costs more.
constexpr std::chrono::milliseconds kSearchInterval{5000};

}  // namespace

// Recognizes a publisher by its file and load bias or, if the load bias has changed, by its file.
std::vector<std::uint8_t> PublisherTable::adopt(const std::vector<Publisher>& publishers) {
  std::vector<std::optional<std::size_t>> chosen(publishers.size());
  std::vector<bool> taken(paths_.size());
  // Start with those of the same load bias, so that no copy gets the index of another.
  for (const bool same_place : {true, false}) {
    for (std::size_t i = 0; i < publishers.size(); ++i) {
      for (std::size_t known = 0; known < paths_.size() && !chosen[i]; ++known) {
        if (taken[known] || paths_[known] != publisher_title(publishers[i])) continue;
        if (same_place && load_biases_[known] != publishers[i].load_bias) continue;
        chosen[i] = known;
        taken[known] = true;
      }
    }
  }
  std::vector<std::uint8_t> indices;
  for (std::size_t i = 0; i < publishers.size(); ++i) {
    std::size_t index = chosen[i].value_or(paths_.size());
    if (index == paths_.size() && index <= kLastIndex) {
      paths_.push_back(publisher_title(publishers[i]));
      load_biases_.push_back(0);
    }
    index = std::min(index, kLastIndex);
    load_biases_[index] = publishers[i].load_bias;
    indices.push_back(static_cast<std::uint8_t>(index));
  }
  return indices;
}

std::uint8_t PublisherTable::adopt_source(ProcessSource source) {
  Publisher stand_in;
  stand_in.path = source_path(source);
  const auto known = std::ranges::find(paths_, stand_in.path);
  if (known != paths_.end()) return static_cast<std::uint8_t>(known - paths_.begin());
  return adopt({stand_in}).front();
}

namespace {

// Returns the process that this one, or those before it, were forked from without another program.
Pid first_of_server(const LiveProcess& process) {
  // Servers have few generations: PostgreSQL has two.
  constexpr int kMostGenerations = 8;
  Pid first = process.pid();
  auto parent = process.fork_parent();
  for (int i = 0; parent && i < kMostGenerations; ++i) {
    first = parent->pid();
    parent = parent->fork_parent();
  }
  return first;
}

}  // namespace

TrackedProcess::TrackedProcess(ProcessKey key, ModuleTable& modules, const Planner& planner,
                               const std::vector<VariableSpec>& variables)
    : key_(key),
      modules_(&modules),
      space_(modules, key.pid),
      planner_(planner.for_another_process()) {
  if (variables.empty()) return;
  auto facts = std::make_shared<ProcessFacts>();
  for (const VariableSpec& variable : variables) facts->variable_keys.push_back(variable.key);
  user_facts_ = std::move(facts);
}

TrackedProcess::TrackedProcess(ProcessKey key, const TrackedProcess& parent)
    : key_(key),
      server_(parent.server()),
      modules_(parent.modules_),
      space_(parent.space_),
      comm_(parent.comm_),
      planner_(parent.planner_),
      user_facts_(parent.user_facts_),
      plan_(parent.plan_),
      recipes_(parent.recipes_),
      publishers_(parent.publishers_),
      publisher_of_recipe_(parent.publisher_of_recipe_),
      own_labels_(parent.own_labels_),
      looked_at_(parent.looked_at_),
      may_have_published_(parent.may_have_published_) {
  space_.set_owner(key.pid);
  if (plan_.facts) {
    auto inherited = std::make_shared<ProcessFacts>(*plan_.facts);
    inherited->of_parent = true;
    plan_.facts = std::move(inherited);
  }
  // on_fork() has copied the parent's recipes. If the parent was planned again since, or has to be,
  // the child must be planned, too.
  if (parent.next_plan_ || Clock::now() - parent.last_plan_ < kLatestEvent) plan_soon();
}

bool TrackedProcess::publishes() const {
  return !std::ranges::all_of(publisher_paths(), is_process_source);
}

Process TrackedProcess::summary() const {
  return {pid(), comm_, publisher_paths(), facts() == nullptr ? Attributes() : facts()->attributes,
          server()};
}

void TrackedProcess::become(Process summary, bool publishes_nothing) {
  comm_ = std::move(summary.comm);
  server_ = summary.server;
  publishers_.resume(std::move(summary.publishers));
  auto said = std::make_shared<ProcessFacts>();
  said->attributes = std::move(summary.attributes);
  plan_.facts = std::move(said);
  looked_at_ = true;
  may_have_published_ = !publishes_nothing;
  on_exit();
}

void TrackedProcess::renew_name() {
  if (const auto process = LiveProcess::open(pid())) note_name((*process)->comm());
}

Status TrackedProcess::refresh(ProcessLabelReader& labels, const OneLook* look) {
  plan_later();
  last_plan_ = Clock::now();
  auto process = LiveProcess::open(pid());
  if (!process) return std::move(process).error();
  const OneLook own(**process);
  if (look == nullptr) look = &own;
  Status status = space_.load(*look, 0, look->since_ns());
  if (!status) return status;
  note_name((*process)->comm());
  if (!server_) {
    const Pid first = first_of_server(**process);
    server_ = first == pid() ? key() : ProcessKey{first, 0};
  }
  if (!own_labels_) {
    adopt(labels.read(**process));
  } else if (renews_own_labels_) {
    ProcessLabels now = labels.read_again(**process);
    if (now != *own_labels_) adopt(std::move(now));
    renews_own_labels_ = next_plan_.has_value();
  }
  auto plan = planner_.plan(*look);
  if (!plan) return std::move(plan).error();
  // The child of a vfork() shares its parent's memory until it ends or executes a program. What was
  // read while it let go of it looks like a process without labels.
  if ((*process)->has_replaced_program()) {
    return Error{ErrorCode::kVanished, "process " + std::to_string(raw(pid())) +
                                           " has ended or executed a program while it was planned"};
  }
  adopt(*std::move(plan));
  return {};
}

void TrackedProcess::adopt(ProcessPlan plan) {
  std::shared_ptr<const ProcessFacts> facts = std::exchange(plan.facts, std::move(plan_.facts));
  plan.presets.keep(plan_.presets);
  plan_ = std::move(plan);
  adopt_facts(std::move(facts));
  // The plan was made with the facts that can be read now, which may be fewer than those that are
  // kept.
  for (Publisher& publisher : plan_.publishers) {
    find_source(publisher.recipe.source)->adapt(plan_.facts.get(), publisher.recipe);
  }
  looked_at_ = true;
  if (!plan_.publishers.empty() || !plan_.refusals.empty()) may_have_published_ = true;
  if (plan_.plan_again && !next_plan_) next_plan_ = Clock::now() + kRetryDelay;
  recipes_ = plan_.recipes();
  auto order = publisher_of_recipe_;
  const std::vector<std::uint8_t> indices = publishers_.adopt(plan_.publishers);
  std::copy_n(indices.begin(), std::min<std::size_t>(indices.size(), LS_MAX_PUBLISHERS),
              order.begin());
  if (order != publisher_of_recipe_) {
    publisher_of_recipe_ = order;
    ++publisher_epoch_;
    plan_epoch_ = next_plan_epoch();
  }
}

// Known facts stay if the new ones are missing or incomplete: a forked child still has the facts of
// its parent, and a writer may be in the middle of an update.
bool TrackedProcess::adopt_facts(std::shared_ptr<const ProcessFacts> facts) {
  if (!facts || (plan_.facts && facts->published_ns == 0)) return false;
  const bool news = !plan_.facts || !say_the_same(*plan_.facts, *facts);
  if (user_facts_ && facts->variable_keys.empty()) {
    auto with_keys = std::make_shared<ProcessFacts>(*facts);
    with_keys->variable_keys = user_facts_->variable_keys;  // the process does not know these keys
    facts = std::move(with_keys);
  }
  plan_.facts = std::move(facts);
  if (news) ++publisher_epoch_;
  return news;
}

bool TrackedProcess::renew_facts(Clock::time_point now) {
  if (ended() || now - last_facts_ < kWatchInterval) return false;
  last_facts_ = now;
  auto process = LiveProcess::open(pid());
  if (!process) return false;
  const auto mappings = named_mappings(**process);
  if (!mappings) return false;
  if (!adopt_facts(read_process_facts(**process, *mappings, plan_.needs_facts()))) return false;
  // Node's recipe depends on the facts: if they change, there is another recipe.
  const bool adapts = any_of(recipes_, &LabelSource::About::facts_adapt_walk);
  if (adapts && !next_plan_) next_plan_ = now;
  return true;
}

void TrackedProcess::watch_facts(Clock::time_point now) {
  if (ended() || now < next_facts_) return;
  const bool own = plan_.facts && plan_.facts->has_context() && !plan_.facts->of_parent;
  next_facts_ = now + (own ? kWatchInterval : kSearchInterval);
  if (own ? has_changed(*plan_.facts, *open_process_memory(pid())) : plan_.needs_facts())
    renew_facts(now);
}

Observation TrackedProcess::decode(std::span<const std::byte> bytes) {
  const Meanings known{facts() != nullptr ? facts() : user_facts_.get(), &plan_.presets};
  Observation seen = decode_label_bytes(bytes, known);
  const bool unknown = (seen.flags & LS_UNKNOWN_KEY) != 0;
  if (unknown && renew_facts(Clock::now())) seen = decode_label_bytes(bytes, plan_.meanings());
  if (own_labels_) add_process_labels(*own_labels_, LS_MAX_PUBLISHERS, seen.labels);
  return seen;
}

void TrackedProcess::adopt(ProcessLabels labels) {
  for (const ProcessLabel& label : labels) {
    const std::size_t place = LS_MAX_PUBLISHERS + static_cast<std::size_t>(label.source);
    publisher_of_recipe_[place] = publishers_.adopt_source(label.source);
  }
  own_labels_ = std::move(labels);
  ++publisher_epoch_;  // samples that were decoded before have other labels of the process
}

void TrackedProcess::on_mapping(const Mapping& mapping, std::uint64_t time_ns) {
  Live live;
  space_.add(mapping, finder(live), time_ns);
  // Mappings without a file (code made at run time) come by the thousand, and publish nothing.
  if (mapping.file) plan_soon();
}

void TrackedProcess::begin_life(ProcessKey key, std::string_view name) {
  key_ = key;
  if (!name.empty()) comm_ = name;
  name_before_.clear();
  publishers_ = {};
  publisher_of_recipe_ = {};
  row = kNoIndex;
  caches.threads.clear();
}

void TrackedProcess::on_exec() {
  space_.clear();
  ++own_epoch_;
  looked_at_ = false;
  may_have_published_ = false;
  own_labels_.reset();
  server_.reset();
  recipes_.clear();
  plan_ = {};
  ++publisher_epoch_;
  plan_epoch_ = next_plan_epoch();
  plan_soon();
}

// Frees what is only needed for labels and addresses that are still to come.
void TrackedProcess::on_exit() {
  ended_ = Clock::now();
  if (left_out_) return;
  caches = {};
  planner_ = Planner();
}

void TrackedProcess::on_mappings_lost(std::uint64_t since_ns) {
  space_.note_gap(since_ns);
  read_mappings_later();
}

void TrackedProcess::read_mappings_later() {
  // Wait a little: if events get lost, there is no time to plan every process over and over.
  if (!next_plan_) next_plan_ = Clock::now() + kRetryDelay;
}

void TrackedProcess::look_up_at(std::uint64_t time_ns) {
  if (space_.has_open_gap() && !ended() && Clock::now() - last_reload_ >= kReloadInterval) {
    last_reload_ = Clock::now();
    Live live;
    // If it cannot be read, the gap stays open.
    if (const Target* process = finder(live)()) static_cast<void>(space_.load(*process));
  }
  space_.look_up_at(time_ns);
}

void TrackedProcess::plan_soon() {
  next_plan_ = Clock::now();
  plan_delay_ = kFirstDelay;
}

void TrackedProcess::plan_later() {
  if (plan_delay_.count() == 0) {
    next_plan_.reset();
    return;
  }
  next_plan_ = Clock::now() + plan_delay_;
  plan_delay_ =
      plan_delay_ >= kLastDelay ? std::chrono::milliseconds{0} : plan_delay_ * kDelayFactor;
}

// Opens it at most once.
FindProcess TrackedProcess::finder(Live& live) const {
  return [this, &live]() -> const Target* {
    if (!live.asked && !ended()) {
      if (auto opened = LiveProcess::open(pid())) live.process = *std::move(opened);
    }
    live.asked = true;
    return live.process.get();
  };
}

Index TrackedProcess::program() {
  Live live;
  return space_.program(finder(live));
}

Index TrackedProcess::module_at(Address address) {
  Live live;
  const FindProcess process = finder(live);
  Index module = space_.module_at(address, process);
  if (module != kNoIndex || ended()) return module;
  auto now = Clock::now();
  if (now - last_reload_ < kReloadInterval) return kNoIndex;
  last_reload_ = now;
  if (process() != nullptr && !space_.load(*process(), address)) return kNoIndex;
  return space_.module_at(address, process);
}

std::uint8_t TrackedProcess::publisher(std::uint8_t index) const {
  return index < publisher_of_recipe_.size() ? publisher_of_recipe_[index] : index;
}

}  // namespace labelscope::cli
