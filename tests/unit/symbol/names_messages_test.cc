// Tests what the worker may say about names, and what labelscope refuses from it.
#include "cli/names/names_messages.h"

#include <protozero/pbf_builder.hpp>

#include "support/catch.h"

using namespace labelscope;
using namespace labelscope::cli;

namespace {

SourceLine line(const std::string& function, const std::string& file, int number) {
  SourceLine line;
  line.function = function;
  line.system_name = "_Z" + function;
  line.file = file;
  line.line = number;
  return line;
}

std::vector<std::string> written(const std::vector<std::vector<SourceLine>>& names,
                                 const NamesRemarks& remarks = {}) {
  std::vector<std::string> packets;
  NamesWriter writer([&](std::string body) { packets.push_back(std::move(body)); });
  for (const auto& lines : names) writer.add(lines);
  writer.finish(remarks);
  return packets;
}

// Makes a reply as the worker does, with any numbers.
std::string reply(const std::vector<std::string>& strings,
                  const std::vector<std::uint32_t>& numbers) {
  std::string body;
  protozero::pbf_writer writer(body);
  for (const std::string& text : strings) writer.add_bytes(1, text);
  writer.add_packed_uint32(2, numbers.begin(), numbers.end());
  return body;
}

std::string why_not(std::size_t asked, const std::string& body) {
  NamesReader reader(asked);
  const Status taken = reader.take(body);
  return taken ? std::string() : taken.error().context;
}

}  // namespace

TEST_CASE("names_messages: names arrive as they were, each text once") {
  std::vector<std::vector<SourceLine>> names{
      {line("inner", "a.h", 3), line("outer", "a.cc", 7)}, {}, {line("outer", "a.cc", 8)}};
  names.push_back({line(std::string("a\0b\xff", 4), "", 0)});
  NamesRemarks remarks;
  remarks.opened = true;
  remarks.build_id = "00ff";
  remarks.first_address = 0x1000;
  remarks.has_lines = true;
  remarks.nameless = "padding";
  remarks.left_out = "much";
  NamesReader reader(names.size());
  std::size_t size = 0;
  for (const std::string& packet : written(names, remarks)) {
    REQUIRE(reader.take(packet));
    size += packet.size();
  }
  CHECK(size < 200);
  REQUIRE(reader.check_complete());
  for (std::size_t i = 0; i < names.size(); ++i) {
    REQUIRE(reader.names[i].size() == names[i].size());
    for (std::size_t k = 0; k < names[i].size(); ++k) {
      CHECK(reader.names[i][k].function == names[i][k].function);
      CHECK(reader.names[i][k].system_name == names[i][k].system_name);
      CHECK(reader.names[i][k].file == names[i][k].file);
      CHECK(reader.names[i][k].line == names[i][k].line);
    }
  }
  CHECK(reader.remarks.build_id == "00ff");
  CHECK(reader.remarks.first_address == 0x1000);
  CHECK(reader.remarks.has_lines);
  CHECK(reader.remarks.nameless == "padding");
  CHECK(reader.remarks.left_out == "much");
}

TEST_CASE("names_messages: long names go into several packets, none larger than it may be") {
  std::vector<std::vector<SourceLine>> names;
  for (int i = 0; i < 60; ++i) {
    names.push_back({line(std::to_string(i) + std::string(60000, 'x'), "f", i),
                     line(std::string(65536, 'y'), "g", i)});
  }
  NamesReader reader(names.size());
  for (const std::string& packet : written(names)) {
    CHECK(packet.size() < kMaxPacket);
    REQUIRE(reader.take(packet));
  }
  REQUIRE(reader.check_complete());
  CHECK(reader.names[59][0].function == names[59][0].function);
}

TEST_CASE("names_messages: text beyond all measure is left out, also if it is one name for all") {
  const std::string long_name(60000, 'x');
  const std::size_t addresses = kMaxAnswerText / (kMaxLines * long_name.size()) + 2;
  const std::vector<std::vector<SourceLine>> names(
      addresses, std::vector<SourceLine>(kMaxLines, line(long_name, "f", 1)));
  NamesReader reader(names.size());
  for (const std::string& packet : written(names)) REQUIRE(reader.take(packet));
  REQUIRE(reader.check_complete());
  CHECK_FALSE(reader.names.front().front().function.empty());
  CHECK(reader.names.back().back().function.empty());
  // This worker repeats a long name beyond the limit of all text in an answer.
  std::vector<std::uint32_t> numbers;
  for (int i = 0; i < 512; ++i) {
    numbers.push_back(1);
    numbers.insert(numbers.end(), {1, 1, 1, 1});
  }
  CHECK(why_not(512, reply({long_name}, numbers)) == "it sends more text than any answer has");
}

TEST_CASE("names_messages: what contradicts itself or the question is refused") {
  CHECK(why_not(1, "\xff\xff\xff").find("no message") != std::string::npos);
  CHECK(why_not(1, reply({}, {0, 0})) == "it names more addresses than were asked for");
  CHECK(why_not(1, reply({"a"}, {1, 2, 0, 0, 1})) == "it refers to a name that it has not sent");
  CHECK(why_not(1, reply({"a"}, {1, 1, 0, UINT32_MAX, 1})) ==
        "it refers to a name that it has not sent");
  CHECK(why_not(1, reply({"a"}, {2, 1, 0, 0, 1})).find("impossible number") != std::string::npos);
  CHECK(why_not(1, reply({"a"}, {UINT32_MAX})).find("impossible number") != std::string::npos);
  CHECK(why_not(1, reply({"a"}, {1, 1, 1, 1, UINT32_MAX})).empty());
  const std::vector<std::string> many(3 * kMaxLines * kMaxAddresses + 1);
  CHECK(why_not(1, reply(many, {})) == "it sends more text than any answer has");
  NamesReader fewer(2);
  REQUIRE(fewer.take(reply({}, {0})));
  CHECK_FALSE(fewer.check_complete());
}

TEST_CASE("names_messages: only debug files that can be are asked for") {
  const auto decoded = [](WantedDebugFile wanted) {
    return decode_wanted_debug_file(encode(wanted));
  };
  const auto honest = decoded({true, "00ff", "../a b.debug"});
  REQUIRE(honest);
  CHECK(honest->alternate);
  CHECK(honest->build_id == "00ff");
  CHECK(honest->link == "../a b.debug");
  CHECK_FALSE(decoded({false, "0", "a"}));
  CHECK_FALSE(decoded({false, "../0", "a"}));
  CHECK_FALSE(decoded({false, "00FF", "a"}));
  CHECK_FALSE(decoded({false, std::string(2 * kMaxBuildId + 2, '0'), "a"}));
  CHECK_FALSE(decoded({false, "00", std::string("a\0b", 3)}));
  CHECK_FALSE(decoded({false, "00", std::string(100000, 'a')}));
  CHECK_FALSE(decode_wanted_debug_file("\xff"));
}

TEST_CASE("names_messages: requests arrive as they were") {
  NamesRequest request;
  request.file = 7;
  request.open = true;
  request.from = NamesFrom::kSymbols;
  request.inlined = false;
  request.close = true;
  request.addresses.assign(kMaxAddresses, UINT64_MAX);
  const std::string body = encode(request);
  CHECK(body.size() < kMaxPacket);
  const auto decoded = decode_names_request(body);
  REQUIRE(decoded);
  CHECK(decoded->file == 7);
  CHECK(decoded->open);
  CHECK(decoded->from == NamesFrom::kSymbols);
  CHECK_FALSE(decoded->inlined);
  CHECK(decoded->close);
  CHECK(decoded->addresses == request.addresses);
}
