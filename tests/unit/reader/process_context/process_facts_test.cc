// Tests the process context in made-up memory: it is found by its mapping, read by its protocol,
// and all that it says is bounded.
#include "labelscope/process_facts.h"

#include <functional>
#include <utility>

#include "process_context/context_message.h"
#include "support/catch.h"
#include "support/fake_memory.h"
#include "support/otel_bytes.h"

namespace labelscope::test {
namespace {

using namespace otel;

constexpr Address kHeader = 0x7000'0000;
constexpr Address kPayload = 0x7100'0100;
constexpr const char* kMemfd = "/memfd:OTEL_CTX (deleted)";

// One mapping with a context, in a process that may change it at every read.
class ContextProcess : public Target, private MemorySource {
 public:
  explicit ContextProcess(const std::string& payload = {}, std::string name = kMemfd)
      : name_(std::move(name)) {
    memory_.map(kHeader, 32);
    publish(payload);
  }
  void publish(const std::string& payload, std::uint64_t published_ns = 7) {
    if (!payload.empty()) memory_.put_text(kPayload, payload);
    memory_.put_text(kHeader,
                     header(static_cast<std::uint32_t>(payload.size()), kPayload, published_ns));
  }
  void put_header(const std::string& bytes) { memory_.put_text(kHeader, bytes); }
  void set_parent(std::function<std::unique_ptr<Target>()> parent) { parent_ = std::move(parent); }
  // Calls `change` after this number of reads.
  void after(int reads, std::function<void()> change) {
    reads_ = reads;
    change_ = std::move(change);
  }

  Result<std::vector<Mapping>> mappings() const override {
    Mapping mapping;
    mapping.start = kHeader;
    mapping.end = kHeader + 4096;
    mapping.readable = mapping.writable = true;
    mapping.path = name_;
    return std::vector<Mapping>{mapping};
  }
  Result<UniqueFd> open_file(const Mapping&) const override { return UniqueFd(); }
  const MemorySource& memory() const override { return *this; }
  std::optional<Address> program_headers_address() const override { return std::nullopt; }
  std::unique_ptr<Target> forked_from() const override { return parent_ ? parent_() : nullptr; }
  FakeMemory& bytes() { return memory_; }

 private:
  Status read(Address address, std::span<std::byte> out) const override {
    Status status = memory_.read(address, out);
    if (--reads_ == 0) change_();
    return status;
  }

  std::string name_;
  FakeMemory memory_;
  mutable int reads_ = 0;
  std::function<void()> change_;
  std::function<std::unique_ptr<Target>()> parent_;
};

std::shared_ptr<const ProcessFacts> facts_of(const ContextProcess& process, bool wanted = false) {
  return read_process_facts(process, *process.mappings(), wanted);
}

std::string context() {
  return resource({key_value("service.name", text("shop"))}) + own(schema()) +
         own(key_map({"route", "user"}));
}

const Attributes kShop{{"service.name", "shop"}};

FindingCode only_finding(const ProcessFacts& facts) {
  REQUIRE(facts.findings.size() == 1);
  return facts.findings[0].code;
}

}  // namespace

TEST_CASE("process_facts: a context is found by each of its names, and without a name if wanted") {
  for (const char* name : {kMemfd, "/memfd:OTEL_CTX", "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]"}) {
    const auto facts = facts_of(ContextProcess(context(), name));
    INFO(name);
    REQUIRE(facts);
    CHECK(facts->attributes == kShop);
    CHECK(facts->keys == std::vector<std::string>{"route", "user"});
    CHECK(facts->published_ns == 7);
    CHECK(facts->findings.empty());
  }
  CHECK(facts_of(ContextProcess(context(), "[heap]")) == nullptr);
  CHECK(facts_of(ContextProcess(context(), "")) == nullptr);
  CHECK(facts_of(ContextProcess(context(), ""), /*wanted=*/true)->attributes == kShop);
  ContextProcess other("", "");
  other.put_header("no context of any kind, but memory");
  CHECK(facts_of(other, /*wanted=*/true) == nullptr);
}

TEST_CASE("process_facts: of two contexts that which was published last counts, and can be read") {
  constexpr Address kOther = 0x7200'0000;
  const std::string other = own(schema()) + own(key_map({"other"}));
  ContextProcess process(context());
  process.bytes().map(kOther, 32);
  process.bytes().put_text(kOther + 0x100, other);
  std::vector<Mapping> both = *process.mappings();
  both.push_back(both.front());
  both.back().start = kOther;
  both.back().end = kOther + 4096;
  const auto keys_with = [&](std::uint64_t published_ns, std::uint32_t size) {
    process.bytes().put_text(kOther, header(size, kOther + 0x100, published_ns));
    return read_process_facts(process, both, false)->keys;
  };
  using Keys = std::vector<std::string>;
  const auto size = static_cast<std::uint32_t>(other.size());
  CHECK(keys_with(8, size) == Keys{"other"});
  CHECK(keys_with(6, size) == Keys{"route", "user"});
  CHECK(keys_with(0, size) == Keys{"route", "user"});      // never published
  CHECK(keys_with(8, size - 1) == Keys{"route", "user"});  // no message
}

TEST_CASE(
    "process_facts: the key map may stand in the resource, and the last of equal keys counts") {
  const auto keys_of = [](const std::string& payload) {
    return facts_of(ContextProcess(payload))->keys;
  };
  using Keys = std::vector<std::string>;
  CHECK(keys_of(resource({schema(), key_map({"in resource"})})) == Keys{"in resource"});
  CHECK(keys_of(own(key_map({"own"})) + resource({key_map({"in resource"})})) == Keys{"own"});
  CHECK(keys_of(own(key_map({"first"})) + own(key_map({"last", "more"}))) == Keys{"last", "more"});
  CHECK(keys_of(own(key_map({}))).empty());
  const auto twice = facts_of(ContextProcess(resource(
      {key_value("service.name", text("first")), key_value("service.name", text("shop"))})));
  CHECK(twice->attributes == kShop);
}

TEST_CASE("process_facts: the keys of all known schemas, and none of an unknown one") {
  for (const char* name :
       {"tlsdesc_v1_dev", "tls_v1", "nodejs_v1_dev", "nodejs_v1", "go_pprof_labels_v1"}) {
    CHECK(facts_of(ContextProcess(own(schema(name)) + own(key_map({"a"}))))->keys.size() == 1);
  }
  const auto unknown = facts_of(ContextProcess(own(schema("tls_v9")) + own(key_map({"a"}))));
  CHECK(unknown->keys.empty());
  CHECK(only_finding(*unknown) == FindingCode::kUnknownSchema);
}

TEST_CASE(
    "process_facts: values that are no texts become text, and those without one are left out") {
  const std::string fixed = varint(4 << 3 | 1) + std::string("\0\0\0\0\0\0\xe0\x3f", 8);
  const auto said = parse_context_message(std::as_bytes(std::span<const char>(
      resource({key_value("b", number_field(2, 1)), key_value("d", fixed),
                key_value("i", number_field(3, ~0ULL)), key_value("x", field(7, "\x01\xfe")),
                key_value("list", array({"left out"}))}))));
  REQUIRE(said);
  CHECK(said->attributes == Attributes{{"b", "true"}, {"d", "0.5"}, {"i", "-1"}, {"x", "01fe"}});
}

TEST_CASE("process_facts: a context that is replaced while it is read is read again") {
  ContextProcess process(context());
  // Header and payload are read; then the writer replaces them.
  process.after(2, [&] { process.publish(own(key_map({"newer"})), 8); });
  const auto facts = facts_of(process);
  CHECK(facts->published_ns == 8);
  CHECK(facts->keys == std::vector<std::string>{"newer"});

  ContextProcess freed(context());
  freed.after(1, [&] {
    freed.bytes().unmap_page(kPayload);
    freed.publish("", 9);
  });
  CHECK(facts_of(freed)->published_ns == 9);
  CHECK(facts_of(freed)->findings.empty());

  ContextProcess changing;
  changing.publish(context(), 0);
  const auto never = facts_of(changing);
  CHECK(never->published_ns == 0);
  CHECK(only_finding(*never) == FindingCode::kContextChanging);
  CHECK(never->attributes.empty());
}

TEST_CASE("process_facts: has_changed() compares the time of the publication") {
  ContextProcess process(context());
  const auto facts = facts_of(process);
  CHECK_FALSE(has_changed(*facts, process.memory()));
  process.publish(context(), 8);
  CHECK(has_changed(*facts, process.memory()));
  CHECK(has_changed(*facts, FakeMemory()));
}

TEST_CASE("process_facts: a header that is just begun is waited for") {
  ContextProcess process(context());
  process.put_header(std::string(32, '\0'));
  process.after(2, [&] { process.publish(context()); });
  const auto facts = facts_of(process);
  CHECK(facts->findings.empty());
  CHECK(facts->keys.size() == 2);
}

TEST_CASE("process_facts: the schema is reported, if there is one") {
  CHECK(facts_of(ContextProcess(context()))->schema == "tlsdesc_v1_dev");
}

TEST_CASE("process_facts: a fork without a context has that of its parent") {
  ContextProcess child("", "[heap]");
  child.set_parent([] { return std::make_unique<ContextProcess>(context()); });
  CHECK(facts_of(child) == nullptr);  // the names of keys are not asked for
  const auto facts = facts_of(child, /*wanted=*/true);
  REQUIRE(facts);
  CHECK(facts->of_parent);
  CHECK(facts->keys.size() == 2);
  CHECK_FALSE(has_changed(*facts, child.memory()));
}

TEST_CASE("process_facts: what is no context of version 2 is reported, and gives nothing") {
  const auto found = [](const std::string& bytes) {
    ContextProcess process(context());
    process.put_header(bytes);
    const auto facts = facts_of(process);
    CHECK(facts->attributes.empty());
    CHECK(facts->keys.empty());
    return only_finding(*facts);
  };
  CHECK(found("SOMETHING ELSE") == FindingCode::kContextMalformed);
  CHECK(found(header(8, kPayload, 7, 1)) == FindingCode::kContextVersion);
  CHECK(found(header(8, kPayload, 7, 3)) == FindingCode::kContextVersion);
  CHECK(found(header(1U << 30, kPayload)) == FindingCode::kContextSize);
  CHECK(found(header(~0U, kPayload)) == FindingCode::kContextSize);
  CHECK(found(header(64, 0)) == FindingCode::kBadPointer);
  CHECK(found(header(64, ~0ULL - 8)) == FindingCode::kBadPointer);
}

TEST_CASE("process_facts: a message that breaks off anywhere, or is none, gives nothing") {
  const std::string whole = context();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const auto said = parse_context_message(std::as_bytes(std::span(whole.data(), size)));
    // Between two fields of the outermost message the part is a whole, shorter message.
    if (said) CHECK((!said->key_map || said->key_map->size() == 2));
  }
  const auto is_refused = [](const std::string& bytes) {
    return !parse_context_message(std::as_bytes(std::span<const char>(bytes)));
  };
  CHECK(is_refused(std::string(20, '\xff')));
  CHECK(is_refused(varint(1 << 3 | 2) + varint(~0ULL)));  // longer than any memory
  CHECK(is_refused(varint(1 << 3 | 3)));                  // a group
  CHECK(is_refused(varint(0 << 3 | 0) + varint(1)));      // no field has the number 0
  CHECK(is_refused(own(key_value("threadlocal.attribute_key_map", text("no list")))));
  CHECK_FALSE(is_refused(number_field(100, 5) + field(101, "of a later version")));
  std::string many;
  for (std::size_t i = 0; i <= kMostAttributes; ++i)
    many += own(key_value(std::to_string(i), text("")));
  CHECK(is_refused(many));
}

TEST_CASE("process_facts: texts that are too long and keys that are too many are left out") {
  const std::string longest(kLongestText, 'x');
  std::vector<std::string> keys(kMostKeys + 3, "k");
  keys[1] = longest + "x";
  ContextProcess process(
      resource({key_value("fits", text(longest)), key_value("not", text(longest + "x"))}) +
      own(key_map(keys)));
  const auto facts = facts_of(process);
  CHECK(facts->attributes.size() == 1);
  REQUIRE(facts->keys.size() == kMostKeys);
  CHECK(facts->keys[1].empty());
  CHECK(only_finding(*facts) == FindingCode::kContextSize);
  CHECK(facts->findings[0].text.find("has 5 keys or values") != std::string::npos);
}

}  // namespace labelscope::test
