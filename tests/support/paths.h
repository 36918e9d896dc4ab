// Where the build has put the programs and files that tests use. labelscope_test_paths()
// (tests/CMakeLists.txt) defines the paths of each test in a source file of its own, because they
// name the folder of the build. As macros they would make every object of the test differ between
// folders, and a compiler cache would find none of them.
#pragma once

namespace paths {

extern const char kBrokenTargets[];
extern const char kChainProgram[];
extern const char kChainProgramMusl[];
extern const char kCheckScripts[];
extern const char kCompromisedWorker[];
extern const char kCrashers[];
extern const char kCrowdProgram[];
extern const char kCustomLabelsLibrary[];
extern const char kDemoService[];
extern const char kEarlyPrograms[];
extern const char kFixtures[];
extern const char kFormatTests[];
extern const char kGlobals[];
extern const char kGoLabels[];
extern const char kLabelscope[];
extern const char kLateLoader[];
extern const char kLibraryU[];
extern const char kLibraryV[];
extern const char kLiveViolators[];
extern const char kManyWaits[];
extern const char kMatrixDir[];
extern const char kMatrixExpected[];
extern const char kOtelContextLibrary[];
extern const char kOtelContexts[];
extern const char kPageTests[];
extern const char kPprofProto[];
extern const char kPreloaded[];
extern const char kPresetServers[];
extern const char kPresets[];
extern const char kProbe[];
extern const char kRivals[];
extern const char kRivalsLibrary[];
extern const char kSelfCheckExecutable[];
extern const char kSelfCheckLibrary[];
extern const char kStackShapes[];
extern const char kStaticProbe[];
extern const char kStatusServer[];
extern const char kStepperPrograms[];
extern const char kStepperSources[];
extern const char kTestdata[];
extern const char kThreadContextLibrary[];
extern const char kTimedWaits[];
extern const char kTlsProbes[];
extern const char kUnruly[];
extern const char kVariables[];
extern const char kVariablesLibrary[];
extern const char kWriterInclude[];

}  // namespace paths
