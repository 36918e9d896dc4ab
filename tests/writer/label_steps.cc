// The chain of calls; its strings live as long as the program, so that an act only calls the
// library.
#include "writer/label_steps.h"

#include <array>
#include <optional>

#include "customlabels/labels.hpp"

namespace {

using customlabels::Label;
using customlabels::Scope;

const std::string kLongest(CUSTOM_LABELS_THREAD_MAX_VALUE, 'v');
// 255 bytes fill up with two-byte characters after one 'x'; the next one would end at byte 257.
const std::string kTooLong = [] {
  std::string text = "x";
  while (text.size() < 400) text += "\u00e9";
  return text;
}();
const std::string kTooLongCut = kTooLong.substr(0, 255);

const std::array<std::string, CUSTOM_LABELS_THREAD_MAX_PROGRAM_LABELS> kFullKeys = [] {
  std::array<std::string, CUSTOM_LABELS_THREAD_MAX_PROGRAM_LABELS> keys;
  for (std::size_t i = 0; i < keys.size(); ++i)
    keys[i] = std::string(CUSTOM_LABELS_THREAD_MAX_KEY - 1, 'k') + static_cast<char>('0' + i);
  return keys;
}();

Labels full_set() {
  Labels labels;
  for (const std::string& key : kFullKeys) labels = with(labels, key, kLongest);
  return labels;
}

void replace_with_full_set() {
  const auto& k = kFullKeys;
  customlabels::replace({{k[0], kLongest},
                         {k[1], kLongest},
                         {k[2], kLongest},
                         {k[3], kLongest},
                         {k[4], kLongest},
                         {k[5], kLongest},
                         {k[6], kLongest},
                         {k[7], kLongest}});
}

// Scopes that outlive the act that enters them.
std::optional<Scope> outer;
std::optional<Scope> inner;

class Chain {
 public:
  void step(std::string name, std::function<void()> act, Labels after) {
    now_ = after;
    steps_.push_back({std::move(name), std::move(act), std::move(after)});
  }
  void set(std::string name, const char* key, const std::string& value) {
    step(
        std::move(name), [key, &value] { customlabels::set(key, value); }, with(now_, key, value));
  }
  void remove(std::string name, const std::string& key) {
    step(
        std::move(name), [&key] { customlabels::remove(key); }, without(now_, key));
  }
  void unchanged(std::string name, std::function<void()> act) {
    step(std::move(name), std::move(act), now_);
  }
  const Labels& now() const { return now_; }
  std::vector<LabelStep> steps() && { return std::move(steps_); }

 private:
  Labels now_;
  std::vector<LabelStep> steps_;
};

const std::string kTenant = "tenant";
const std::string kRoute = "route";
const std::string kEmpty;
const std::string kAcme = "acme";
const std::string kPay = "/pay";
const std::string kCart = "/cart";
const std::string kRoot = "/";
const std::string kPost = "/post";

void single_label_steps(Chain& chain) {
  chain.set("the first label", "tenant", kAcme);
  chain.set("a second label", "route", kPay);
  chain.set("a third label, with an empty value", "note", kEmpty);
  chain.set("a longer value for the first", "tenant", kLongest);
  chain.set("a shorter value for the first", "tenant", kAcme);
  chain.set("a longer value in the middle", "route", kCart);
  chain.set("an equally long value in the middle", "route", kPost);
  chain.set("an empty value in the middle", "route", kEmpty);
  chain.set("the same value again", "tenant", kAcme);
  chain.step(
      "a value that is cut", [] { customlabels::set("note", kTooLong); },
      with(chain.now(), "note", kTooLongCut));
  chain.step(
      "two at once, one of them new",
      [] {
        customlabels::update({{"route", kRoot}, {"user", kAcme}});
      },
      with(with(chain.now(), "route", kRoot), "user", kAcme));
  chain.remove("remove the first", kTenant);
  chain.step(
      "remove the last", [] { customlabels::remove("user"); }, without(chain.now(), "user"));
  chain.unchanged("remove what is not there", [] { customlabels::remove("user"); });
  chain.unchanged("refused: an empty key", [] { customlabels::set("", kAcme); });
}

void whole_set_steps(Chain& chain) {
  chain.step("replace all by eight labels at their limits", replace_with_full_set, full_set());
  chain.unchanged("refused: a ninth label", [] { customlabels::set("one more", kAcme); });
  chain.unchanged("refused: several, of which one is the ninth", [] {
    customlabels::update({{kFullKeys[0], kAcme}, {"one more", kAcme}});
  });
  chain.step(
      "a shorter value in the full set", [] { customlabels::set(kFullKeys[7], kAcme); },
      with(chain.now(), kFullKeys[7], kAcme));
  chain.remove("remove from the middle of the full set", kFullKeys[4]);
  chain.step("replace all by one",
             [] {
               customlabels::replace({{kTenant, kAcme}});
             },
             {{kTenant, kAcme}});
  chain.remove("remove the only one", kTenant);
  chain.unchanged("clear nothing", [] { customlabels::clear(); });
  chain.step("replace nothing by two",
             [] {
               customlabels::replace({{kTenant, kAcme}, {kRoute, kPay}});
             },
             {{kRoute, kPay}, {kTenant, kAcme}});
}

void scope_steps(Chain& chain) {
  const Labels before = chain.now();
  chain.step(
      "enter a scope",
      [] {
        outer.emplace({Label("route", kCart), Label("job", kAcme)});
      },
      with(with(before, "route", kCart), "job", kAcme));
  chain.step(
      "leave it at once", [] { outer.reset(); }, before);
  chain.step(
      "enter it again", [] { outer.emplace("job", kAcme); }, with(before, "job", kAcme));
  chain.remove("remove within the scope", kTenant);
  const Labels between = chain.now();
  chain.step(
      "enter a scope in the scope", [] { inner.emplace("tenant", kLongest); },
      with(between, "tenant", kLongest));
  chain.step("clear within both", [] { customlabels::clear(); }, {});
  chain.set("set within both", "user", kAcme);
  chain.step(
      "leave the inner scope", [] { inner.reset(); }, between);
  chain.step(
      "leave the outer scope", [] { outer.reset(); }, before);
  chain.step("clear", [] { customlabels::clear(); }, {});
  chain.step("enter a scope from nothing", [] { outer.emplace("job", kAcme); }, {{"job", kAcme}});
  chain.step("leave it to nothing", [] { outer.reset(); }, {});
}

}  // namespace

std::vector<LabelStep> label_steps() {
  Chain chain;
  single_label_steps(chain);
  whole_set_steps(chain);
  scope_steps(chain);
  return std::move(chain).steps();
}
