// Tests a signal handler that labels its own work, at every instruction of every call that may be
// interrupted so. The call, and those that come after it, must work as if the handler had not run.
#include "writer/c_api/handler_steps.h"

#include <cstddef>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "customlabels/pprof.hpp"
#include "support/catch.h"
#include "writer/c_api/c_labels.h"

namespace {

custom_labels_labelset_t* handlers_set = nullptr;

// A scheduler in a handler may do this.
bool install_and_put_back() {
  custom_labels_labelset_t* found = custom_labels_replace(handlers_set);
  const bool installed = custom_labels_get(custom_labels_current(), raw("h")) != nullptr;
  custom_labels_replace(found);
  return installed;
}

// Any handler may do this. Within a call that changes the thread's own set, it gets the result
// "busy".
bool enter_and_leave() {
  const custom_labels_label_t label = raw("handler", "yes");
  custom_labels_saved_t saved;
  if (custom_labels_thread_enter(&saved, &label, 1) == CUSTOM_LABELS_BUSY) return true;
  const bool entered = custom_labels_get(custom_labels_current(), raw("handler")) != nullptr;
  custom_labels_thread_leave(&saved);
  return entered;
}

// It may change its own labels, too: then the block from before is built in.
bool enter_set_and_leave() {
  const custom_labels_label_t label = raw("handler", "yes");
  custom_labels_saved_t saved;
  if (custom_labels_thread_enter(&saved, &label, 1) == CUSTOM_LABELS_BUSY) return true;
  const std::string long_value(200, 'h');
  for (const char* key : {"handler2", "handler3", "handler4"}) set(key, long_value);
  custom_labels_thread_leave(&saved);
  return true;
}

bool set_and_stay() { return set("handler", "stays") != CUSTOM_LABELS_INVALID; }

custom_labels_labelset_t* watched = nullptr;
Labels before_call;
Labels after_call;

// Any handler may read a set, also one that is not current and is being changed.
bool look() {
  for (std::size_t i = 0; i < custom_labels_count(watched); ++i) {
    const custom_labels_label_t* label = custom_labels_at(watched, i);
    if (label == nullptr || label->key.buf == nullptr || label->value.buf == nullptr) return false;
  }
  const Labels seen = labels_of(watched);
  return seen == before_call || seen == after_call;
}

void check_all_instructions(std::initializer_list<Step> steps, int far = kFar) {
  SetObject in_handler(Labels{{"h", "1"}});
  handlers_set = in_handler.get();
  REQUIRE(custom_labels_thread_prepare() == CUSTOM_LABELS_SET);
  for (const Handler what : {install_and_put_back, enter_and_leave, enter_set_and_leave})
    check_steps(steps, what, far);
}

}  // namespace

TEST_CASE_METHOD(Unlabelled, "handler steps: changes of a current set object") {
  SetObject object;
  SetObject other(Labels{{"other", "1"}});
  const auto put = [&](const char* key, const char* value) {
    custom_labels_set(object.get(), raw(key), raw(value), nullptr);
  };
  const auto start = [&] {
    custom_labels_replace(nullptr);
    custom_labels_clear(object.get());
    put("a", "1");
    put("b", "2");
    custom_labels_replace(object.get());
    // Now the second block exists, too, and the two are related.
    put("a", "start");
  };
  // The next call must change what readers see.
  const auto holds = [&](const Labels& expected) {
    if (custom_labels_current() != object.get() || current_labels() != expected) return false;
    put("later", "l");
    return current_labels() == with(expected, "later", "l") && object.labels() == current_labels();
  };
  const custom_labels_label_t both[] = {raw("a", "both"), raw("c", "both")};
  check_all_instructions({
      {"set a new label", start, [&] { put("c", "3"); },
       [&] {
         return holds({{"a", "start"}, {"b", "2"}, {"c", "3"}});
       }},
      {"replace a value", start, [&] { put("a", "replaced"); },
       [&] {
         return holds({{"a", "replaced"}, {"b", "2"}});
       }},
      {"update two", start, [&] { custom_labels_update(object.get(), both, 2); },
       [&] {
         return holds({{"a", "both"}, {"b", "2"}, {"c", "both"}});
       }},
      {"remove", start, [&] { custom_labels_delete(object.get(), raw("a")); },
       [&] {
         return holds({{"b", "2"}});
       }},
      {"clear", start, [&] { custom_labels_clear(object.get()); }, [&] { return holds({}); }},
      {"replace the set", [&] { start(), custom_labels_replace(other.get()); },
       [&] { custom_labels_replace(object.get()); },
       [&] {
         return holds({{"a", "start"}, {"b", "2"}});
       }},
      {"replace nothing", [&] { start(), custom_labels_replace(nullptr); },
       [&] { custom_labels_replace(object.get()); },
       [&] {
         return holds({{"a", "start"}, {"b", "2"}});
       }},
      {"run_with", start,
       [&] {
         custom_labels_label_t label = raw("a", "within");
         custom_labels_run_with(
             object.get(), &label, 1, [](void*) -> void* { return nullptr; }, nullptr, nullptr);
       },
       [&] {
         return holds({{"a", "start"}, {"b", "2"}});
       }},
  });
}

TEST_CASE_METHOD(Unlabelled, "handler steps: a handler reads a set that is changed") {
  SetObject object;
  watched = object.get();
  struct Change {
    const char* name;
    Labels before;
    std::function<void()> call;
    Labels after;
  };
  const auto put = [&](const char* key, const char* value) { object.put(key, value); };
  const Labels two = {{"a", "1"}, {"b", "2"}};
  const custom_labels_label_t added[] = {raw("c", "both"), raw("d", "both")};
  const custom_labels_label_t mixed[] = {raw("a", "both"), raw("c", "both")};
  const custom_labels_label_t twice[] = {raw("c", "first"), raw("c", "second")};
  const auto update = [&](const custom_labels_label_t* labels) {
    custom_labels_update(object.get(), labels, 2);
  };
  const Change changes[] = {
      {"add", two, [&] { put("c", "3"); }, with(two, "c", "3")},
      {"replace a value", two, [&] { put("a", "5"); }, with(two, "a", "5")},
      {"a longer value", two, [&] { put("a", "longer"); }, with(two, "a", "longer")},
      {"add two", two, [&] { update(added); }, with(with(two, "c", "both"), "d", "both")},
      {"update two", two, [&] { update(mixed); }, with(with(two, "a", "both"), "c", "both")},
      {"a key twice", two, [&] { update(twice); }, with(two, "c", "second")},
      {"remove", two, [&] { custom_labels_delete(object.get(), raw("a")); }, {{"b", "2"}}},
      {"clear", two, [&] { custom_labels_clear(object.get()); }, {}},
  };
  for (const Change& change : changes) {
    before_call = change.before;
    after_call = change.after;
    check_steps({{change.name,
                  [&] {
                    // Where the call will write, there is something else.
                    custom_labels_clear(object.get());
                    for (const char* key : {"w", "x", "y", "z"}) object.put(key, "otherwise");
                    custom_labels_clear(object.get());
                    for (const auto& [key, value] : change.before) object.put(key, value);
                  },
                  change.call, [&] { return object.labels() == change.after; }}},
                look, kFar == 11 ? 1 : kFar);
  }
}

namespace {

unsigned turn = 0;

// Both labels have the same value, and the last set but one is gone.
bool change_twice() {
  for (int i = 0; i < 2; ++i) {
    ++turn;
    const std::string value(10 + turn % 80, static_cast<char>('a' + turn % 26));
    const custom_labels_label_t both[] = {raw("a", value), raw("b", value)};
    if (custom_labels_thread_update(both, 2) == CUSTOM_LABELS_INVALID) return false;
  }
  return true;
}

}  // namespace

TEST_CASE_METHOD(Unlabelled, "handler steps: who asks for all labels gets those of one moment") {
  namespace labels = customlabels::labels;
  Labels seen;
  const auto note = [&](std::string_view key, std::string_view value) {
    seen.emplace_back(key, value);
    return true;
  };
  const auto start = [&] {
    seen.clear();
    change_twice();
  };
  const auto is_whole = [&] {
    return seen.size() == 2 && seen[0].second == seen[1].second;
  };
  check_steps({{"ForLabels", start, [&] { labels::ForLabels(note); }, is_whole},
               {"capture", start,
                [&] { labels::ForLabels(labels::Context::capture(), note); }, is_whole}},
              change_twice, 1);
}

TEST_CASE_METHOD(Unlabelled, "handler steps: a set object that is current is freed") {
  custom_labels_labelset_t* object = nullptr;
  check_all_instructions(
      {{"free",
        [&] {
          object = custom_labels_new(0);
          custom_labels_set(object, raw("a"), raw("1"), nullptr);
          custom_labels_replace(object);
        },
        [&] { custom_labels_free(object); }, [] { return custom_labels_current() == nullptr; }}});
}

TEST_CASE_METHOD(Unlabelled, "handler steps: changes of the thread's own set") {
  const auto start = [] {
    custom_labels_replace(nullptr);
    custom_labels_thread_clear_trace();
    custom_labels_thread_clear();
    set("a", "1");
    set("b", "2");
  };
  const auto holds = [](const Labels& expected) {
    return current_labels() == expected && set("later", "l") >= 0 &&
           current_labels() == with(expected, "later", "l") &&
           labels_of(custom_labels_current()) == current_labels();
  };
  SetObject object(Labels{{"object", "1"}});
  const custom_labels_label_t label = raw("a", "within");
  custom_labels_saved_t saved;
  check_all_instructions({
      {"set a new label", start, [] { set("c", "3"); },
       [&] {
         return holds({{"a", "1"}, {"b", "2"}, {"c", "3"}});
       }},
      {"replace a value", start, [] { set("a", "replaced"); },
       [&] {
         return holds({{"a", "replaced"}, {"b", "2"}});
       }},
      {"remove", start, [] { custom_labels_thread_remove("a", 1); },
       [&] {
         return holds({{"b", "2"}});
       }},
      {"clear", start, [] { custom_labels_thread_clear(); }, [&] { return holds({}); }},
      {"trace context", start, [] { custom_labels_thread_set_trace(7, 8); },
       [&] {
         return holds({{"a", "1"}, {"b", "2"}, {"root-span-id", "8"}, {"span-id", "7"}});
       }},
      {"scope", start,
       [&] {
         custom_labels_thread_enter(&saved, &label, 1);
         custom_labels_thread_leave(&saved);
       },
       [&] {
         return holds({{"a", "1"}, {"b", "2"}});
       }},
      {"scope with a set", start,
       [&] {
         custom_labels_thread_enter_set(&saved, object.get());
         custom_labels_thread_leave(&saved);
       },
       [&] {
         return holds({{"a", "1"}, {"b", "2"}});
       }},
      {"scope in a set",
       [&] {
         start();
         custom_labels_replace(object.get());
       },
       [&] {
         custom_labels_thread_enter(&saved, &label, 1);
         custom_labels_thread_leave(&saved);
       },
       [&] {
         return custom_labels_current() == object.get() &&
                current_labels() == Labels{{"object", "1"}};
       }},
  });
}

TEST_CASE_METHOD(Unlabelled, "handler steps: reading and installing the thread's own set") {
  SetObject object(Labels{{"object", "1"}});
  custom_labels_labelset_t* own = nullptr;
  custom_labels_labelset_t* copy = nullptr;
  custom_labels_string_t text = {0, nullptr};
  const Labels labels = {{"a", "1"}, {"b", "2"}};
  const auto start = [&] {
    custom_labels_replace(nullptr);
    custom_labels_thread_clear();
    for (const auto& [key, value] : labels) set(key, value);
    own = custom_labels_current();
  };
  const auto is_whole = [&] { return current_labels() == labels && set("a", "1") >= 0; };
  check_all_instructions(
      {
          {"current", start, [&] { copy = custom_labels_current(); },
           [&] { return copy == own && is_whole(); }},
          {"clone", start, [&] { copy = custom_labels_clone(own); },
           [&] {
             const bool same = labels_of(copy) == labels;
             custom_labels_free(copy);
             return same && is_whole();
           }},
          {"debug string", start, [&] { custom_labels_debug_string(own, &text); },
           [&] {
             const bool same = view(text) == "{a: 1, b: 2}";
             std::free(const_cast<unsigned char*>(text.buf));
             return same && is_whole();
           }},
          {"the old value", start, [&] { custom_labels_set(own, raw("a"), raw("1"), &text); },
           [&] {
             const bool same = view(text) == "1";
             std::free(const_cast<unsigned char*>(text.buf));
             return same && is_whole();
           }},
          {"install", [&] { start(), custom_labels_replace(object.get()); },
           [&] { custom_labels_replace(own); },
           [&] { return custom_labels_current() == own && is_whole() && is_whole(); }},
          {"install an object", start, [&] { custom_labels_replace(object.get()); },
           [&] {
             return current_labels() == Labels{{"object", "1"}} &&
                    custom_labels_replace(own) == object.get() && is_whole();
           }},
      },
      kFar == 11 ? 3 : kFar);
}

TEST_CASE_METHOD(Unlabelled, "handler steps: a set that lies where the labels of a freed one lay") {
  // The program's own set by the ABI, and what stands before it: no pointer to an owner.
  struct Foreign {
    void* before[2];
    custom_labels_labelset_t set;
  };
  const custom_labels_label_t label = raw("foreign", "1");
  Foreign* foreign = nullptr;
  check_all_instructions({
      {"install",
       [&] {
         custom_labels_replace(nullptr);
         std::free(foreign);
         foreign = nullptr;
         custom_labels_labelset_t* object = custom_labels_new(1);
         custom_labels_set(object, raw("o"), raw("1"), nullptr);
         custom_labels_replace(object);
         const void* labels = custom_labels_current_set;
         set("own", "1");
         // Its labels move to another block. They were published last from the first one.
         custom_labels_set(object, raw("o"), raw("2"), nullptr);
         custom_labels_free(object);
         for (std::size_t size = sizeof *foreign; foreign == nullptr && size < 1024; size += 16) {
           // The compiler would assume that it is new memory.
           void* volatile memory = std::malloc(size);
           if (&static_cast<Foreign*>(memory)->set == labels)
             foreign = static_cast<Foreign*>(memory);
           else
             std::free(memory);
         }
         if (foreign == nullptr) skip_test("malloc does not give the same memory again");
         *foreign = {{nullptr, nullptr}, {const_cast<custom_labels_label_t*>(&label), 1, 1}};
       },
       [&] { custom_labels_replace(&foreign->set); },
       [&] {
         const bool well = custom_labels_current() == &foreign->set;
         custom_labels_replace(nullptr);
         return well;
       }},
  });
  std::free(foreign);
}

TEST_CASE_METHOD(Unlabelled, "handler steps: the end of a thread") {
  const auto start = [] { set("a", "1"); };
  for (const Handler what : {enter_set_and_leave, set_and_stay}) check_thread_end(start, what);
}

TEST_CASE("handler steps: a thread is ended within its first call") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip_test("a sanitizer reports the memory that a thread has lost which ends just after malloc");
#else
  check_ends_within_first_call();
#endif
}
