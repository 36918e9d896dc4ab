#include "writer/step_labels.h"

#include <algorithm>
#include <string_view>

#include "support/catch.h"

namespace {

bool contains(const Labels& labels, const Labels::value_type& label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// Returns what is wrong with a set that is neither of the two.
Violation judge(const Labels& seen, const Labels& before, const Labels& after) {
  for (const auto& label : seen) {
    if (label.second == kNullValueText) return Violation::kNullValue;
  }
  const bool all_known = std::all_of(seen.begin(), seen.end(), [&](const auto& label) {
    return contains(before, label) || contains(after, label);
  });
  return all_known ? Violation::kMixture : Violation::kTornLabel;
}

class LabelWatcher final : public StepWatcher {
 public:
  explicit LabelWatcher(const std::vector<LabelStep>& steps) : steps_(steps) {}

  void look(pid_t child, std::size_t step, std::size_t instruction, bool over) override {
    const Labels& after = steps_[step].after;
    const Labels& before = step == 0 ? none_ : steps_[step - 1].after;
    if (instruction == 0) {
      changed_ = after == before;
      step_begin_ = findings_.size();
    }
    compare(child, before, after, step, instruction);
    if (over && !changed_)
      find(Violation::kUnchanged, step, instruction, "the step is over without the new set");
  }

  std::vector<Finding> take_findings() && { return std::move(findings_); }

 private:
  void compare(pid_t child, const Labels& before, const Labels& after, std::size_t step,
               std::size_t instruction) {
    const std::optional<Labels> seen = read_remote_labels(
        child, const_cast<const custom_labels_labelset_t* const*>(&custom_labels_current_set));
    if (!seen) return find(Violation::kUnreadable, step, instruction, "a set that cannot be read");
    if (*seen == after) {
      changed_ = true;
    } else if (*seen != before) {
      find(judge(*seen, before, after), step, instruction,
           "a set that was never set: " + to_string(*seen));
    } else if (changed_) {
      find(Violation::kOldAgain, step, instruction, "the old set after the new one");
    }
  }

  void find(Violation violation, std::size_t step, std::size_t instruction, std::string_view what) {
    for (std::size_t i = step_begin_; i < findings_.size(); ++i) {
      if (findings_[i].violation == violation) return;
    }
    findings_.push_back({violation, steps_[step].name + ", instruction " +
                                        std::to_string(instruction) + ": " + std::string(what)});
  }

  const std::vector<LabelStep>& steps_;
  const Labels none_;
  bool changed_ = false;
  std::size_t step_begin_ = 0;  // index of this step's first finding
  std::vector<Finding> findings_;
};

}  // namespace

LabelStepReport step_labels(const std::vector<LabelStep>& steps) {
#if defined(__SANITIZE_THREAD__)
  skip_test("the thread sanitizer's own instructions would be stepped too: far too many");
#endif
  LabelWatcher watcher(steps);
  const auto body = [&] {
    for (const LabelStep& step : steps) {
      if (!step.act) continue;
      step.act();
      end_step();
    }
  };
  const std::optional<Stepping> stepping = single_step(steps.size(), body, watcher);
  if (!stepping) skip_test("this process may not trace its own child (seccomp or yama?)");
  INFO(stepping->failure);
  REQUIRE(stepping->failure.empty());
  return {stepping->instructions, std::move(watcher).take_findings()};
}
