// A model of the writer in a few maps, and random calls. Calls interfere in odd ways because there
// are few keys, some of one length, and values have lengths from none to the longest.
#include <array>
#include <map>
#include <memory>
#include <random>

#include "customlabels/customlabels.h"
#include "customlabels/labels.hpp"
#include "writer/label_steps.h"
#include "writer/step_chain.h"

namespace {

namespace cl = customlabels;
using Model = std::map<std::string, std::string>;

constexpr std::size_t kDeepest = 4;
const char kSpan[] = "span-id";
const char kRoot[] = "root-span-id";

custom_labels_string_t raw(const std::string& text) {
  return {text.size(), reinterpret_cast<const unsigned char*>(text.data())};
}

Labels as_labels(const Model& model) { return {model.begin(), model.end()}; }

std::size_t program_labels(const Model& model) {
  return model.size() - model.count(kSpan) - model.count(kRoot);
}

// A set object, with the labels that the model gives it.
struct ModelSet {
  std::shared_ptr<custom_labels_labelset_t> set;
  Model labels;
};

// What the variable points to: the thread's own labels, or an installed set.
struct Current {
  std::shared_ptr<ModelSet> installed;  // null for the thread's own
  Model own;
  const Model& labels() const { return installed ? installed->labels : own; }
};

class Player {
 public:
  explicit Player(unsigned seed) : random_(seed) {
    for (auto& one : sets_) {
      one = std::make_shared<ModelSet>();
      one->set = {custom_labels_new(1), custom_labels_free};
    }
  }

  std::vector<LabelStep> play(std::size_t count) && {
    while (count-- > 0) play_one();
    while (!scopes_.empty()) leave_scope();
    current_ = {};
    // The chain owns the sets, so they live as long as it does.
    add("install none", [sets = sets_] { custom_labels_replace(nullptr); });
    return std::move(chain_).steps();
  }

 private:
  std::size_t pick(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_);
  }
  std::string key() {
    static const char* const keys[] = {"a",   "b",  "c",  "tenant", "tenanu",     "route",
                                       "ten", "k1", "k2", "k3",     "another one"};
    return keys[pick(std::size(keys))];
  }
  std::string value() {
    static constexpr std::size_t kLengths[] = {0, 1, 5, 5, 5, 15, 16, 17, 100, 256};
    return std::string(kLengths[pick(std::size(kLengths))], static_cast<char>('a' + pick(26)));
  }
  Model some_labels() {
    Model labels;
    for (std::size_t i = pick(4); i > 0; --i) labels[key()] = value();
    return labels;
  }

  void add(std::string name, std::function<void()> act) {
    chain_.step(std::to_string(number_++) + " " + std::move(name), std::move(act),
                as_labels(current_.labels()));
  }

  // The thread's own labels become these, and current, if they fit.
  void publish_own(const Model& labels) {
    if (program_labels(labels) > CUSTOM_LABELS_THREAD_MAX_PROGRAM_LABELS) return;
    current_ = {nullptr, labels};
  }

  void play_one() {
    switch (pick(12)) {
      case 0:
      case 1:
      case 2:
        return set_label();
      case 3:
      case 4:
        return remove_label();
      case 5:
        return update_labels();
      case 6:
        return replace_labels();
      case 7:
        return pick(3) == 0 ? clear() : trace();
      case 8:
        return scopes_.size() < kDeepest ? enter_scope() : leave_scope();
      case 9:
        return scopes_.empty() ? enter_scope() : leave_scope();
      case 10:
        return install();
      default:
        return change_set();
    }
  }

  void set_label() {
    const std::string k = key();
    const std::string v = value();
    Model labels = current_.labels();
    labels[k] = v;
    publish_own(labels);
    add("set " + k, [k, v] { cl::set(k, v); });
  }

  void remove_label() {
    const std::string k = key();
    Model labels = current_.labels();
    if (labels.erase(k) > 0) publish_own(labels);
    add("remove " + k, [k] { cl::remove(k); });
  }

  void update_labels() {
    const Model changes = some_labels();
    Model labels = current_.labels();
    for (const auto& [k, v] : changes) labels[k] = v;
    if (!changes.empty()) publish_own(labels);
    add("update " + std::to_string(changes.size()),
        [views = views(changes)] { custom_labels_thread_update(views.data(), views.size()); });
  }

  void replace_labels() {
    const Model all = some_labels();
    Model labels = only_trace();
    labels.insert(all.begin(), all.end());
    // Without labels this is a clear, which changes nothing if there are none.
    if (!all.empty() || program_labels(current_.labels()) > 0) publish_own(labels);
    add("replace by " + std::to_string(all.size()),
        [views = views(all)] { custom_labels_thread_replace(views.data(), views.size()); });
  }

  Model only_trace() const {
    Model labels;
    for (const char* k : {kSpan, kRoot}) {
      const auto found = current_.labels().find(k);
      if (found != current_.labels().end()) labels.insert(*found);
    }
    return labels;
  }

  void clear() {
    if (program_labels(current_.labels()) > 0) publish_own(only_trace());
    add("clear", [] { cl::clear(); });
  }

  void trace() {
    Model labels = current_.labels();
    if (pick(3) == 0) {
      if (labels.erase(kSpan) + labels.erase(kRoot) > 0) publish_own(labels);
      return add("clear the trace context", [] { cl::clear_trace(); });
    }
    const std::uint64_t span = random_() >> pick(64);
    const std::uint64_t root = random_() >> pick(64);
    labels[kSpan] = std::to_string(span);
    labels[kRoot] = std::to_string(root);
    publish_own(labels);
    add("set the trace context", [span, root] { cl::set_trace(span, root); });
  }

  void enter_scope() {
    auto saved = std::make_shared<custom_labels_saved_t>();
    scopes_.push_back({saved, current_});
    if (pick(3) == 0) {
      const auto& set = sets_[pick(sets_.size())];
      current_ = {set, current_.installed ? Model() : current_.own};
      return add("enter a scope with a set", [saved, raw_set = set->set.get()] {
        custom_labels_thread_enter_set(saved.get(), raw_set);
      });
    }
    const Model changes = some_labels();
    Model labels = current_.labels();
    for (const auto& [k, v] : changes) labels[k] = v;
    if (!changes.empty()) publish_own(labels);
    add("enter a scope with " + std::to_string(changes.size()), [saved, views = views(changes)] {
      custom_labels_thread_enter(saved.get(), views.data(), views.size());
    });
  }

  void leave_scope() {
    const OpenScope scope = std::move(scopes_.back());
    scopes_.pop_back();
    current_ = scope.before;
    add("leave a scope", [saved = scope.saved] { custom_labels_thread_leave(saved.get()); });
  }

  void install() {
    if (pick(4) == 0) {
      current_ = {};
      return add("install none", [] { custom_labels_replace(nullptr); });
    }
    const auto& set = sets_[pick(sets_.size())];
    current_.installed = set;
    add("install a set", [raw_set = set->set.get()] { custom_labels_replace(raw_set); });
  }

  // Changes any set, which may be the installed one.
  void change_set() {
    const auto& set = sets_[pick(sets_.size())];
    custom_labels_labelset_t* raw_set = set->set.get();
    const std::string k = key();
    const std::string v = value();
    switch (pick(4)) {
      case 0:
        set->labels.erase(k);
        return add("delete in a set", [raw_set, k] { custom_labels_delete(raw_set, raw(k)); });
      case 1:
        set->labels.clear();
        return add("clear a set", [raw_set] { custom_labels_clear(raw_set); });
      default:
        set->labels[k] = v;
        return add("set in a set",
                   [raw_set, k, v] { custom_labels_set(raw_set, raw(k), raw(v), nullptr); });
    }
  }

  // Labels for a call, together with what they point to.
  struct Views {
    std::shared_ptr<const Model> model;
    std::vector<custom_labels_label_t> labels;
    const custom_labels_label_t* data() const { return labels.data(); }
    std::size_t size() const { return labels.size(); }
  };
  static Views views(const Model& model) {
    Views views{std::make_shared<const Model>(model), {}};
    for (const auto& [k, v] : *views.model) views.labels.push_back({raw(k), raw(v)});
    return views;
  }

  struct OpenScope {
    std::shared_ptr<custom_labels_saved_t> saved;
    Current before;
  };

  std::mt19937_64 random_;
  std::size_t number_ = 0;
  std::array<std::shared_ptr<ModelSet>, 3> sets_;
  Current current_;
  std::vector<OpenScope> scopes_;
  StepChain chain_;
};

}  // namespace

std::vector<LabelStep> random_steps(unsigned seed, std::size_t count) {
  return Player(seed).play(count);
}
