# Shared by the tests with Java (sourced, behind lib.sh): the command that starts a program of
# tests/targets/java is "${java[@]}" CLASS, and $preload is what LD_PRELOAD needs.
# shellcheck shell=bash
[[ -n ${JAVA_PROGRAMS:-} ]] ||
  skip_test "labels from Java were not built: there was no JDK (default-jdk-headless)"
need_command java
# A program with a sanitizer needs its runtime before all other libraries, which java does not load.
if readelf --dynamic "$WRITER_LIBRARY" 2>/dev/null | grep -q 'NEEDED.*lib[at]san'; then
  skip_test "java cannot load a library with a sanitizer"
fi
# The JVM takes as little memory and as few threads as it can: several tests run at once.
# shellcheck disable=SC2034  # for the tests
java=(java -Xmx128m -XX:+UseSerialGC -XX:CICompilerCount=2 -Xshare:auto
  -cp "$JAVA_LABELS_JAR:$JAVA_PROGRAMS" -Dcustomlabels.library="$JAVA_LABELS_LIBRARY")
# shellcheck disable=SC2034
preload=$WRITER_LIBRARY
