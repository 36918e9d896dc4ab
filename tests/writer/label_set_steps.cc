// The chain of calls for label sets. Its strings and sets live as long as the program; the last
// steps free the sets.
#include <cstdlib>
#include <optional>

#include "customlabels/customlabels.h"
#include "customlabels/labels.hpp"
#include "customlabels/pprof.hpp"
#include "writer/label_steps.h"
#include "writer/step_chain.h"

namespace {

namespace cl = customlabels;

const std::string kAcme = "acme";
const std::string kPay = "/pay";
const std::string kOther = "/other";
const std::string kEmpty;
const std::string kHuge(10'000, 'h');

custom_labels_labelset_t* first = nullptr;
custom_labels_labelset_t* second = nullptr;
custom_labels_saved_t saved;
std::optional<cl::labels::Context> context;
std::optional<cl::labels::Adopted> adopted;

// A set that a program has built without the library.
custom_labels_label_t built_labels[] = {{{5, reinterpret_cast<const unsigned char*>("built")},
                                         {3, reinterpret_cast<const unsigned char*>("one")}}};
custom_labels_labelset_t built = {built_labels, 1, 1};

custom_labels_string_t raw(std::string_view text) {
  return {text.size(), reinterpret_cast<const unsigned char*>(text.data())};
}

void set(custom_labels_labelset_t* in, std::string_view key, const std::string& value) {
  custom_labels_set(in, raw(key), raw(value), nullptr);
}

void set_and_take_old(std::string_view key, const std::string& value) {
  custom_labels_string_t old = {};
  custom_labels_careful_set(first, raw(key), raw(value), &old);
  std::free(const_cast<unsigned char*>(old.buf));
}

void update_two(custom_labels_labelset_t* in) {
  const custom_labels_label_t labels[] = {{raw("route"), raw(kPay)}, {raw("user"), raw(kAcme)}};
  custom_labels_update(in, labels, 2);
}

void build_steps(StepChain& chain) {
  chain.unchanged("a new set", [] { first = custom_labels_new(1); });
  chain.unchanged("a label in it", [] { set(first, "tenant", kAcme); });
  chain.step("install it", [] { custom_labels_replace(first); }, {{"tenant", kAcme}});
  chain.step(
      "a label that it has no room for", [] { set(first, "route", kPay); },
      with(chain.now(), "route", kPay));
  chain.step(
      "a longer value", [] { set(first, "route", kOther); }, with(chain.now(), "route", kOther));
  chain.step(
      "a shorter value", [] { set(first, "route", kPay); }, with(chain.now(), "route", kPay));
  chain.step(
      "an equally long value, and the old one wanted", [] { set_and_take_old("tenant", kPay); },
      with(chain.now(), "tenant", kPay));
  chain.unchanged("the same value", [] { set(first, "route", kPay); });
  chain.step(
      "a new label, and no old value", [] { set_and_take_old("note", kEmpty); },
      with(chain.now(), "note", kEmpty));
  chain.unchanged("refused: no key", [] {
    custom_labels_set(first, {0, nullptr}, raw(kPay), nullptr);
  });
}

void change_steps(StepChain& chain) {
  chain.step(
      "two at once, one of them new", [] { update_two(first); },
      with(with(chain.now(), "route", kPay), "user", kAcme));
  chain.step(
      "remove the first", [] { custom_labels_delete(first, raw("tenant")); },
      without(chain.now(), "tenant"));
  chain.step(
      "remove the last", [] { custom_labels_careful_delete(first, raw("user")); },
      without(chain.now(), "user"));
  chain.unchanged("remove what is not there", [] { custom_labels_remove(first, raw("user")); });
  chain.step(
      "an empty key", [] { set(first, "", kAcme); }, with(chain.now(), "", kAcme));
  chain.step(
      "remove it", [] { custom_labels_remove(first, raw("")); }, without(chain.now(), ""));
  chain.step(
      "remove from two", [] { custom_labels_remove(first, raw("note")); },
      without(chain.now(), "note"));
  chain.step("remove the only one", [] { custom_labels_delete(first, raw("route")); }, {});
  chain.step("a label in the empty installed set", [] { set(first, "tenant", kAcme); },
             {{"tenant", kAcme}});
  chain.step("clear it", [] { custom_labels_clear(first); }, {});
  chain.step("two labels", [] { update_two(first); }, {{"route", kPay}, {"user", kAcme}});
}

void whole_set_steps(StepChain& chain) {
  chain.unchanged("a copy with room", [] { second = custom_labels_clone_with_capacity(first, 9); });
  chain.unchanged("another label in the copy", [] { set(second, "copy", kAcme); });
  const Labels copy = with(chain.now(), "copy", kAcme);
  chain.unchanged("what it reads like", [] {
    custom_labels_string_t text = {};
    custom_labels_debug_string(first, &text);
    std::free(const_cast<unsigned char*>(text.buf));
  });
  chain.step(
      "install the copy", [] { custom_labels_replace(second); }, copy);
  chain.unchanged("change the one that was installed", [] { set(first, "tenant", kOther); });
  chain.step("install that one", [] { custom_labels_replace(first); },
             {{"route", kPay}, {"tenant", kOther}, {"user", kAcme}});
  chain.unchanged("install it again", [] { custom_labels_replace(first); });
  chain.unchanged("free the copy", [] { custom_labels_free(second); });
  chain.step("install none", [] { custom_labels_replace(nullptr); }, {});
  chain.step("install a set built by hand", [] { custom_labels_replace(&built); },
             {{"built", "one"}});
  chain.unchanged("refused: change it", [] { set(&built, "tenant", kAcme); });
  chain.step("back to the library's", [] { custom_labels_replace(first); },
             {{"route", kPay}, {"tenant", kOther}, {"user", kAcme}});
}

// These use both modes on one thread.
void mixed_steps(StepChain& chain) {
  const Labels installed = chain.now();
  chain.step(
      "the thread's own label on top of an installed set", [] { cl::set("own", kAcme); },
      with(installed, "own", kAcme));
  chain.step(
      "install the set again", [] { custom_labels_replace(first); }, installed);
  chain.step(
      "remove one of its labels as the thread's own", [] { cl::remove("user"); },
      without(installed, "user"));
  chain.step(
      "change the thread's own set by its handle",
      [] { set(custom_labels_current(), "user", kPay); }, with(installed, "user", kPay));
  chain.step(
      "enter a scope with the set", [] { custom_labels_thread_enter_set(&saved, first); },
      installed);
  chain.step(
      "a label on top of it", [] { cl::set("own", kOther); }, with(installed, "own", kOther));
  chain.step(
      "leave", [] { custom_labels_thread_leave(&saved); }, with(installed, "user", kPay));
  chain.unchanged("capture a context", [] { context.emplace(cl::labels::Context::capture()); });
  chain.step("clear the thread's own labels", [] { cl::clear(); }, {});
  chain.step(
      "adopt the context", [] { adopted.emplace(*context); }, with(installed, "user", kPay));
  chain.unchanged("let go of the context while it is adopted", [] { context.reset(); });
  chain.step("leave and free it", [] { adopted.reset(); }, {});
  chain.unchanged("a huge value", [] { set(first, "user", kHuge); });
  chain.step(
      "install it", [] { custom_labels_replace(first); }, with(installed, "user", kHuge));
  chain.step(
      "a smaller one", [] { set(first, "user", kAcme); }, with(installed, "user", kAcme));
  chain.step(
      "a trace context on top of the installed set", [] { cl::set_trace(7, 8); },
      with(with(chain.now(), "span-id", "7"), "root-span-id", "8"));
  chain.step(
      "clear it", [] { cl::clear_trace(); }, with(installed, "user", kAcme));
  chain.step(
      "install the set once more", [] { custom_labels_replace(first); },
      with(installed, "user", kAcme));
  chain.step("free the installed set", [] { custom_labels_free(first); }, {});
}

}  // namespace

std::vector<LabelStep> label_set_steps() {
  StepChain chain;
  build_steps(chain);
  change_steps(chain);
  whole_set_steps(chain);
  mixed_steps(chain);
  return std::move(chain).steps();
}
