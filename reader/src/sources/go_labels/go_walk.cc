// These are the runtime's structures as they are in memory: src/runtime/runtime2.go, map.go (until
// Go 1.23) and src/runtime/pprof/label.go of each version.
#include "sources/go_labels/go_walk.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/text.h"
#include "sources/custom_labels/label_walk.h"

namespace labelscope {
namespace {

struct GoString {
  Address address;
  std::uint64_t length;
};
// The bytes from m.procid to m.curg, whose distance is the same in all versions.
struct ThreadPart {
  std::uint64_t procid;
  std::array<std::uint64_t, 14> between;
  Address curg;
};
// The bytes from g.gopc to g.labels, whose distance is also the same.
struct GoroutinePart {
  Address gopc;  // the code that made the goroutine
  std::uint64_t ancestors;
  Address startpc;  // its first function
  std::array<std::uint64_t, 5> between;
  Address labels;
};
struct MapHead {
  std::uint64_t count;
  std::uint8_t flags;
  std::uint8_t log_buckets;
  std::uint16_t overflows;
  std::uint32_t seed;
  Address buckets;
  Address old_buckets;
};
constexpr std::uint8_t kBeingWritten = 4;
constexpr std::uint8_t kSameSize = 8;
constexpr std::uint8_t kKnownFlags = 15;
constexpr std::uint8_t kMostLogBuckets = 32;
struct Bucket {
  std::array<std::uint8_t, 8> marks;
  std::array<GoString, 8> keys;
  std::array<GoString, 8> values;
  Address overflow;
};
struct Slice {
  Address address;
  std::uint64_t length;
  std::uint64_t capacity;
};
struct Pair {
  GoString key;
  GoString value;
};
static_assert(sizeof(ThreadPart) == 128 && sizeof(GoroutinePart) == 72 && sizeof(MapHead) == 32 &&
              sizeof(Bucket) == 272 && sizeof(Pair) == sizeof(RemoteLabel));

// Go's empty strings have no address. In the form of ABI v1 that would mean no string at all; and
// bytes without an address would become an empty string.
RemoteString as_remote(const GoString& string) {
  if (string.address != 0) return {string.length, string.address};
  return {string.length == 0 ? 0 : UINT64_MAX, 1};
}
RemoteLabel as_remote(const GoString& key, const GoString& value) {
  return {as_remote(key), as_remote(value)};
}

class Walk {
 public:
  Walk(const MemorySource& memory, const ls_tls_recipe& recipe, std::uint8_t publisher,
       GoTrace& trace)
      : memory_(memory),
        recipe_(recipe),
        known_(parameters_of(recipe)),
        publisher_(publisher),
        trace_(trace) {}

  Observation run(Address place, Tid thread_number) {
    Address g = place;
    if (recipe_.kind != LS_IN_REGISTER && !read(place, g)) return missing("the slot", place);
    trace_.g = g;
    if (g == 0) return no_goroutine();
    Address m = 0;
    if (!read(g + known_.layout.g_m, m)) return missing("the goroutine", g);
    trace_.m = m;
    if (m == 0) return broken("the goroutine is of no thread (its m is null)");
    ThreadPart thread{};
    if (!read(m + known_.layout.m_procid, thread)) return missing("the thread's record", m);
    trace_.procid = thread.procid;
    // The thread is starting, or about to leave the runtime.
    if (thread.procid == 0) return no_goroutine();
    const auto number = static_cast<std::uint64_t>(raw(thread_number));
    if (number != 0 && thread.procid != number) {
      return broken("the goroutine is one of thread " + std::to_string(thread.procid) +
                    ", and this is thread " + std::to_string(number));
    }
    trace_.curg = thread.curg;
    if (thread.curg == 0) return no_goroutine();
    return of_goroutine(g, m, thread.curg);
  }

 private:
  Observation of_goroutine(Address g, Address m, Address curg) {
    Address its_m = m;
    if (curg != g && !read(curg + known_.layout.g_m, its_m)) {
      return missing("the user's goroutine", curg);
    }
    if (its_m != m) return broken("the user's goroutine is of another thread");
    GoroutinePart part{};
    constexpr Address kBefore = sizeof part - sizeof part.labels;
    if (!read(curg + known_.layout.g_labels - kBefore, part)) {
      return missing("the user's goroutine", curg);
    }
    // A thread of C that calls Go gets a goroutine without gopc and startpc.
    const bool none = part.gopc == 0 && part.startpc == 0;
    if (!none && !(in_text(part.gopc) && in_text(part.startpc))) {
      return broken("the goroutine was made at " + hex(part.gopc) + " and began at " +
                    hex(part.startpc) + ", which is not code of this runtime");
    }
    trace_.labels = part.labels;
    if (part.labels == 0) return {};
    return known_.layout.least_mark == 0 ? of_slice(part.labels) : of_map(part.labels);
  }

  Observation of_slice(Address labels) {
    Slice slice{};
    if (!read(labels, slice)) return missing("the label set", labels);
    trace_.count = slice.length;
    if (slice.length == 0) return {};
    if (slice.address == 0 || slice.length > slice.capacity) {
      return broken("the label set has " + std::to_string(slice.length) + " labels at " +
                    hex(slice.address) + " in room for " + std::to_string(slice.capacity));
    }
    std::array<Pair, LS_MAX_SLOTS> pairs;
    const std::span used(pairs.data(), wanted(slice.length));
    if (!memory_.read(memory_.untagged(slice.address), std::as_writable_bytes(used))) {
      return missing("the labels", slice.address);
    }
    for (const Pair& pair : used) elements_.push_back(as_remote(pair.key, pair.value));
    return labels_read();
  }

  Observation of_map(Address labels) {
    Address map = 0;
    MapHead head{};
    if (!read(labels, map)) return missing("the label set", labels);
    if (map == 0) return {};
    if (!read(map, head)) return missing("the map of labels", map);
    trace_.count = head.count;
    if (head.count == 0) return {};
    if ((head.flags & ~kKnownFlags) != 0 || (head.flags & kBeingWritten) != 0 ||
        head.log_buckets > kMostLogBuckets || head.buckets == 0 ||
        (head.old_buckets != 0 && head.log_buckets == 0)) {
      return broken("what should be a map of labels is none, at " + hex(map));
    }
    const std::size_t want = wanted(head.count);
    const std::uint64_t buckets = std::uint64_t{1} << head.log_buckets;
    const std::uint64_t old = (head.flags & kSameSize) != 0 ? buckets : buckets / 2;
    if (!look_through(head.buckets, buckets, false, want) ||
        (head.old_buckets != 0 && !look_through(head.old_buckets, old, true, want))) {
      return missing("a bucket of the map", unread_bucket_);
    }
    if (elements_.size() < want) {
      return broken("the map says that it has " + std::to_string(head.count) + " labels, and " +
                    std::to_string(elements_.size()) + " were found in " +
                    std::to_string(trace_.buckets) + " buckets");
    }
    return labels_read();
  }

  // Reads an array of buckets, each with its chain. Returns false if one cannot be read.
  bool look_through(Address buckets, std::uint64_t count, bool old, std::size_t want) {
    for (std::uint64_t i = 0; i < count; ++i) {
      bool first = true;
      for (Address at = buckets + i * sizeof(Bucket); at != 0; first = false) {
        if (elements_.size() >= want || trace_.buckets == kMostGoBuckets) return true;
        ++trace_.buckets;
        Bucket bucket{};
        if (!read(at, bucket)) {
          unread_bucket_ = at;
          return false;
        }
        if (old && first && has_moved(bucket)) break;
        take(bucket, want);
        at = bucket.overflow;
      }
    }
    return true;
  }
  bool has_moved(const Bucket& bucket) const {
    const std::uint16_t least = known_.layout.least_mark;
    return bucket.marks[0] >= least - 3 && bucket.marks[0] < least;
  }
  void take(const Bucket& bucket, std::size_t want) {
    for (std::size_t i = 0; i < bucket.marks.size() && elements_.size() < want; ++i) {
      if (bucket.marks[i] < known_.layout.least_mark) continue;
      elements_.push_back(as_remote(bucket.keys[i], bucket.values[i]));
    }
  }

  // Returns how many of the labels are looked at.
  std::size_t wanted(std::uint64_t count) {
    if (count > LS_MAX_SLOTS) flags_ |= LS_TRUNCATED_SLOTS;
    return std::min<std::uint64_t>(count, LS_MAX_SLOTS);
  }
  Observation labels_read() {
    Observation seen = read_elements(memory_, elements_, flags_, publisher_);
    if (seen.outcome == LS_UNREADABLE_MALFORMED)
      trace_.problem = "a label leaves the address space";
    if (seen.outcome == LS_UNREADABLE_NOT_RESIDENT) trace_.problem = "a label cannot be read";
    return seen;
  }

  bool in_text(Address address) const {
    return address >= known_.text && address < known_.text_end;
  }
  template <class T>
  bool read(Address address, T& out) const {
    return memory_.read(memory_.untagged(address), std::as_writable_bytes(std::span(&out, 1)))
        .has_value();
  }
  Observation no_goroutine() const { return {LS_UNLABELLED, flags_ | LS_NO_GOROUTINE, {}}; }
  Observation missing(const char* what, Address address) {
    trace_.problem = std::string(what) + " at " + hex(address) + " cannot be read";
    return {LS_UNREADABLE_NOT_RESIDENT, flags_, {}};
  }
  Observation broken(std::string why) {
    trace_.problem = std::move(why);
    return {LS_UNREADABLE_MALFORMED, flags_, {}};
  }

  const MemorySource& memory_;
  const ls_tls_recipe& recipe_;
  const GoParameters known_;
  const std::uint8_t publisher_;
  GoTrace& trace_;
  std::uint32_t flags_ = 0;
  std::vector<RemoteLabel> elements_;
  Address unread_bucket_ = 0;
};

}  // namespace

void put_parameters(const GoParameters& parameters, ls_tls_recipe& recipe) {
  const GoLayout& layout = parameters.layout;
  recipe.parameters[0] = layout.g_m | std::uint64_t{layout.m_procid} << 16 |
                         std::uint64_t{layout.g_labels} << 32 |
                         std::uint64_t{layout.least_mark} << 48;
  recipe.parameters[1] = parameters.text;
  recipe.parameters[2] = parameters.text_end;
}

GoParameters parameters_of(const ls_tls_recipe& recipe) {
  const auto number = [&](unsigned place) {
    return static_cast<std::uint16_t>(recipe.parameters[0] >> (16 * place));
  };
  return {{.g_m = number(0), .g_labels = number(2), .m_procid = number(1), .least_mark = number(3)},
          recipe.parameters[1],
          recipe.parameters[2]};
}

Observation walk_go_labels(const MemorySource& memory, const ls_tls_recipe& recipe, Address place,
                           Tid thread_number, std::uint8_t publisher, GoTrace* trace) {
  GoTrace unwanted;
  return Walk(memory, recipe, publisher, trace != nullptr ? *trace : unwanted)
      .run(place, thread_number);
}

}  // namespace labelscope
