// Field numbers of OpenTelemetry's profiles.
//
// Source: github.com/open-telemetry/opentelemetry-proto, version 1.11.0, profiles/v1development,
// common/v1 and resource/v1. "v1development" has renumbered fields before: a later version may,
// too.
#pragma once

#include <protozero/types.hpp>

namespace labelscope::cli::otlp {

using Tag = protozero::pbf_tag_type;

// ProfilesData, and ExportProfilesServiceRequest, which have the same fields.
enum class Data : Tag { kResourceProfiles = 1, kDictionary = 2 };
enum class Dictionary : Tag {
  kMappings = 1,
  kLocations = 2,
  kFunctions = 3,
  kLinks = 4,
  kStrings = 5,
  kAttributes = 6,
  kStacks = 7,
};
enum class ResourceProfiles : Tag { kResource = 1, kScopeProfiles = 2 };
enum class Resource : Tag { kAttributes = 1 };
enum class ScopeProfiles : Tag { kScope = 1, kProfiles = 2 };
enum class Scope : Tag { kName = 1, kVersion = 2 };
enum class Profile : Tag {
  kSampleType = 1,
  kSamples = 2,
  kTimeUnixNano = 3,
  kDurationNano = 4,
  kPeriodType = 5,
  kPeriod = 6,
  kAttributes = 11,
};
enum class ValueType : Tag { kType = 1, kUnit = 2 };
enum class Sample : Tag { kStack = 1, kAttributes = 2, kLink = 3, kValues = 4 };
enum class Mapping : Tag {
  kMemoryStart = 1,
  kMemoryLimit = 2,
  kFileOffset = 3,
  kFilename = 4,
  kAttributes = 5,
};
enum class Stack : Tag { kLocations = 1 };
enum class Location : Tag { kMapping = 1, kAddress = 2, kLines = 3, kAttributes = 4 };
enum class Line : Tag { kFunction = 1, kLine = 2 };
enum class Function : Tag { kName = 1, kSystemName = 2, kFilename = 3 };
enum class Link : Tag { kTraceId = 1, kSpanId = 2 };
enum class Attribute : Tag { kKey = 1, kValue = 2 };  // its message is KeyValueAndUnit
enum class KeyValue : Tag { kKey = 1, kValue = 2 };
enum class AnyValue : Tag { kString = 1, kInt = 3 };

}  // namespace labelscope::cli::otlp
