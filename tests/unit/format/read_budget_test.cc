// Tests that small files that stand for gigabytes are refused while they are read, in whatever part
// of them the gigabytes are, and that files that are large themselves are not.
#include "cli/format/common/read_budget.h"

#include <protozero/pbf_builder.hpp>
#include <sstream>

#include "cli/format/common/gzip_writer.h"
#include "cli/format/format.h"
#include "cli/format/pprof/pprof_parts.h"
#include "cli/format/recording_reader.h"
#include "support/catch.h"
#include "unit/format/profile_maker.h"

using namespace labelscope;
using namespace labelscope::cli;
using namespace labelscope::test;
using protozero::pbf_builder;

namespace {

std::string packed(const std::string& text) {
  std::ostringstream out;
  GzipWriter gzip(out);
  gzip.write(text);
  REQUIRE(gzip.finish());
  return out.str();
}

Result<ReadRecording> read(const std::string& bytes) {
  std::istringstream in(bytes);
  return read_recording(in);
}

std::string number_field(unsigned field, std::uint64_t number) {
  std::string message;
  pbf_builder<ProfileField>(message).add_uint64(static_cast<ProfileField>(field), number);
  return message;
}

std::string inside(ProfileField field, const std::string& message) {
  std::string outer;
  pbf_builder<ProfileField>(outer).add_message(field, message);
  return outer;
}

// Returns the beginning of a file whose samples have one number each, with a function 1 that has a
// long name.
std::string head(const std::string& name = "work") {
  std::string texts;
  for (const std::string& text :
       {std::string(), std::string("samples"), std::string("count"), name, std::string("key")}) {
    pbf_builder<ProfileField>(texts).add_string(ProfileField::kStringTable, text);
  }
  return texts + inside(ProfileField::kSampleType, number_field(1, 1) + number_field(2, 2)) +
         inside(ProfileField::kFunction, number_field(1, 1) + number_field(2, 3));
}

std::string line() {
  std::string outer;
  pbf_builder<LocationField>(outer).add_message(LocationField::kLine, number_field(1, 1));
  return outer;
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

// Returns `count` samples, each with the same locations, and labels of its own.
std::string samples(std::size_t count, const std::string& locations, std::size_t labels) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    std::string message = locations;
    for (std::size_t j = 0; j < labels; ++j) {
      const std::string label = number_field(1, 4) + number_field(3, j == 0 ? i + 1 : 1);
      pbf_builder<SampleField>(message).add_message(SampleField::kLabel, label);
    }
    pbf_builder<SampleField>(message).add_int64(SampleField::kValue, 1);
    all += inside(ProfileField::kSample, message);
  }
  return all;
}

std::string locations(std::size_t depth, std::uint64_t last) {
  std::vector<std::uint64_t> ids(depth, 1);
  ids.push_back(last);
  std::string message;
  pbf_builder<SampleField>(message).add_packed_uint64(SampleField::kLocationId, ids.begin(),
                                                      ids.end());
  return message;
}

void check_refused(const std::string& what, const std::string& file) {
  INFO(what << ", " << file.size() << " bytes");
  REQUIRE(file.size() < 3'000'000);
  const auto back = read(file);
  REQUIRE_FALSE(back);
  CHECK(back.error().code == ErrorCode::kLimit);
  INFO(back.error().context);
  CHECK((back.error().context.find("it is small and stands for much") != std::string::npos ||
         back.error().context.find("times its size") != std::string::npos));
}

}  // namespace

TEST_CASE(
    "read_budget: a small pprof file that stands for gigabytes is refused, wherever they are") {
  check_refused(
      "one long text, shown by many lines",
      packed(head(std::string(1 << 20, 'x')) +
             inside(ProfileField::kLocation, number_field(1, 1) + repeated(line(), 1000))));
  std::string deep =
      head() + inside(ProfileField::kLocation, number_field(1, 1) + repeated(line(), 2000));
  for (std::uint64_t i = 0; i < 200; ++i) {
    deep += inside(ProfileField::kLocation, number_field(1, 2 + i) + line());
    deep += samples(1, locations(1000, 2 + i), 0);
  }
  check_refused("stacks of functions that are inlined", packed(deep));
  check_refused("samples with hundreds of labels", packed(head() + samples(12'000, {}, 400)));
  check_refused("texts without any letter",
                packed(head() + repeated(std::string("\x32\0", 2), 40'000'000)));
  check_refused("samples without anything",
                packed(head() + repeated(std::string("\x12\0", 2), 30'000'000)));
}

TEST_CASE("read_budget: a file that unpacks to a hundred times its size is refused") {
  std::ostringstream recording;
  SmallProfile made;
  made.labelled({{"tenant", "acme"}});
  REQUIRE(render_jsonl(weighed(std::move(made.profile), 1), {}, recording));
  const std::string first = recording.str().substr(0, recording.str().find('\n') + 1);
  const std::string more = R"({"type":"of tomorrow","id":0})";
  std::string text = first;
  while (text.size() < (std::size_t{100} << 20)) text += more + "\n";
  check_refused("lines of JSON", packed(text));
  std::string pprof = head();
  pprof += inside(ProfileField::kComment, std::string(std::size_t{100} << 20, 'x'));
  check_refused("one field of pprof", packed(pprof));
}

TEST_CASE("read_budget: the last lines of a recording are counted, too") {
  std::ostringstream recording;
  SmallProfile made;
  made.labelled({{"tenant", "acme"}});
  REQUIRE(render_jsonl(weighed(std::move(made.profile), 1), {}, recording));
  std::string text = recording.str().substr(0, recording.str().find('\n') + 1);
  const std::string one = R"({"function":"f","system_name":"f","file":"","line":0})";
  std::string lines = one;
  // A line with more values is left out.
  for (int i = 1; i < 12'000; ++i) lines += "," + one;
  text += R"({"type":"location","id":0,"module":null,"address":"0x1","by_frame_pointer":false,)"
          R"("lines":[)" +
          lines + "]}\n";
  // It fits into the last piece that is read.
  std::string frames = "0";
  for (int i = 1; i < 10'000; ++i) frames += ",0";
  text += R"({"type":"stack","id":0,"locations":[)" + frames +
          R"(],"end":"complete"})"
          "\n";
  check_refused("a stack of functions that are inlined", text);
}

TEST_CASE("read_budget: deep stacks, which compress well, are read") {
  std::string text = head();
  for (std::uint64_t i = 1; i <= 4000; ++i) {
    text += inside(ProfileField::kLocation, number_field(1, i) + line());
  }
  std::uint64_t next = 1;
  for (std::uint64_t i = 0; i < 30'000; ++i) {
    std::vector<std::uint64_t> ids(300);
    for (std::uint64_t& id : ids) {
      next = next * 6364136223846793005 + 1442695040888963407;
      id = &id < ids.data() + 60 ? 1 + next % 4000
                                 : static_cast<std::uint64_t>(1 + (&id - ids.data()));
    }
    std::string message;
    pbf_builder<SampleField>(message).add_packed_uint64(SampleField::kLocationId, ids.begin(),
                                                        ids.end());
    pbf_builder<SampleField>(message).add_int64(SampleField::kValue, 1);
    text += inside(ProfileField::kSample, message);
  }
  const std::string file = packed(text);
  const auto back = read(file);
  INFO(file.size() << " bytes: " << (back ? "" : back.error().context));
  REQUIRE(back);
  CHECK(back->profile.rows.size() == 30'000);
}

TEST_CASE("read_budget: a large file may stand for much") {
  ReadBudget budget;
  CHECK(budget.keep(std::size_t{200} << 20));
  CHECK_FALSE(budget.keep(std::size_t{100} << 20));
  CHECK_FALSE(budget.status());
  budget.read(std::size_t{1} << 20);
  CHECK_FALSE(budget.is_over());
  CHECK(budget.status());
}
