// The chain of calls. Its strings live as long as the program, so that an act only calls the
// library.
#include "writer/label_steps.h"

#include <array>
#include <optional>

#include "customlabels/labels.hpp"
#include "writer/step_chain.h"

namespace {

using customlabels::Label;
using customlabels::Scope;

const std::string kLongest(CUSTOM_LABELS_THREAD_MAX_VALUE, 'v');
// 255 bytes end with two-byte characters after one 'x'; one more character would end at byte 257.
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

// These scopes outlive the act that enters them.
std::optional<Scope> outer;
std::optional<Scope> inner;

const std::string kTenant = "tenant";
const std::string kRoute = "route";
const std::string kEmpty;
const std::string kAcme = "acme";
const std::string kPay = "/pay";
const std::string kCart = "/cart";
const std::string kRoot = "/";
const std::string kPost = "/post";

void set(StepChain& chain, const char* name, const char* key, const std::string& value) {
  chain.step(
      name, [key, &value] { customlabels::set(key, value); }, with(chain.now(), key, value));
}
void remove(StepChain& chain, const char* name, const std::string& key) {
  chain.step(
      name, [&key] { customlabels::remove(key); }, without(chain.now(), key));
}

void single_label_steps(StepChain& chain) {
  set(chain, "the first label", "tenant", kAcme);
  set(chain, "a second label", "route", kPay);
  set(chain, "a third label, with an empty value", "note", kEmpty);
  set(chain, "a longer value for the first", "tenant", kLongest);
  set(chain, "a shorter value for the first", "tenant", kAcme);
  set(chain, "a longer value in the middle", "route", kCart);
  set(chain, "an equally long value in the middle", "route", kPost);
  set(chain, "an empty value in the middle", "route", kEmpty);
  set(chain, "the same value again", "tenant", kAcme);
  chain.step(
      "a value that is cut", [] { customlabels::set("note", kTooLong); },
      with(chain.now(), "note", kTooLongCut));
  chain.step(
      "two at once, one of them new",
      [] {
        customlabels::update({{"route", kRoot}, {"user", kAcme}});
      },
      with(with(chain.now(), "route", kRoot), "user", kAcme));
  remove(chain, "remove the first", kTenant);
  chain.step(
      "remove the last", [] { customlabels::remove("user"); }, without(chain.now(), "user"));
  chain.unchanged("remove what is not there", [] { customlabels::remove("user"); });
  chain.unchanged("refused: an empty key", [] { customlabels::set("", kAcme); });
}

void whole_set_steps(StepChain& chain) {
  chain.step("replace all by eight labels at their limits", replace_with_full_set, full_set());
  chain.unchanged("refused: a ninth label", [] { customlabels::set("one more", kAcme); });
  chain.unchanged("refused: several, of which one is the ninth", [] {
    customlabels::update({{kFullKeys[0], kAcme}, {"one more", kAcme}});
  });
  chain.step(
      "a shorter value in the full set", [] { customlabels::set(kFullKeys[7], kAcme); },
      with(chain.now(), kFullKeys[7], kAcme));
  remove(chain, "remove from the middle of the full set", kFullKeys[4]);
  chain.step("replace all by one",
             [] {
               customlabels::replace({{kTenant, kAcme}});
             },
             {{kTenant, kAcme}});
  remove(chain, "remove the only one", kTenant);
  chain.unchanged("clear nothing", [] { customlabels::clear(); });
  chain.step("replace nothing by two",
             [] {
               customlabels::replace({{kTenant, kAcme}, {kRoute, kPay}});
             },
             {{kRoute, kPay}, {kTenant, kAcme}});
}

void scope_steps(StepChain& chain) {
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
  remove(chain, "remove within the scope", kTenant);
  const Labels between = chain.now();
  chain.step(
      "enter a scope in the scope", [] { inner.emplace("tenant", kLongest); },
      with(between, "tenant", kLongest));
  chain.step("clear within both", [] { customlabels::clear(); }, {});
  set(chain, "set within both", "user", kAcme);
  chain.step(
      "leave the inner scope", [] { inner.reset(); }, between);
  chain.step(
      "leave the outer scope", [] { outer.reset(); }, before);
  chain.step("clear", [] { customlabels::clear(); }, {});
  chain.step("enter a scope from nothing", [] { outer.emplace("job", kAcme); }, {{"job", kAcme}});
  chain.step("leave it to nothing", [] { outer.reset(); }, {});
}

void trace_steps(StepChain& chain) {
  const Labels first = {{"root-span-id", "18446744073709551615"}, {"span-id", "1"}};
  const Labels second = {{"root-span-id", "0"}, {"span-id", "22"}};
  chain.step(
      "a trace context from nothing", [] { customlabels::set_trace(1, UINT64_MAX); }, first);
  set(chain, "a label beside it", "tenant", kAcme);
  chain.step(
      "another trace context", [] { customlabels::set_trace(22, 0); },
      with(second, kTenant, kAcme));
  chain.unchanged("the same trace context", [] { customlabels::set_trace(22, 0); });
  chain.unchanged("refused: its key", [] { customlabels::set("span-id", kAcme); });
  chain.step(
      "enter a scope under a trace context", [] { outer.emplace("job", kAcme); },
      with(chain.now(), "job", kAcme));
  chain.step(
      "another trace context within", [] { customlabels::set_trace(1, UINT64_MAX); },
      with(with(first, "job", kAcme), kTenant, kAcme));
  chain.step(
      "leave to the trace context from before", [] { outer.reset(); },
      with(second, kTenant, kAcme));
  chain.step(
      "clear all but the trace context", [] { customlabels::clear(); }, second);
  chain.step(
      "replace beside the trace context",
      [] {
        customlabels::replace({{kTenant, kPay}});
      },
      with(second, kTenant, kPay));
  chain.step("clear the trace context", [] { customlabels::clear_trace(); }, {{kTenant, kPay}});
  chain.unchanged("clear it again", [] { customlabels::clear_trace(); });
  remove(chain, "remove the last label", kTenant);
}

}  // namespace

std::vector<LabelStep> label_steps() {
  StepChain chain;
  single_label_steps(chain);
  whole_set_steps(chain);
  scope_steps(chain);
  trace_steps(chain);
  return std::move(chain).steps();
}
