// SPDX-License-Identifier: Apache-2.0
// External times: a chip model of ten lines of Python, and programs that misbehave in every way the
// protocol can be broken.
#include "host/op_times/external_times.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <thread>

#include "core/text/diagnostics.hpp"

namespace weft::external_times_test {
namespace {

using std::chrono::milliseconds;

const Operator matmul{"qkv", Matmul{16384, 6144, 4096, 1}, {"BF16", 16}};

std::vector<std::string> chip(const std::string& model) {
  return {"python3", "-B", std::string(WEFT_SOURCE_DIR) + "/tests/host/op_times/chip.py", model};
}

/// A shell that greets and then does this for the first question.
std::vector<std::string> after_greeting(const std::string& script) {
  return {"/bin/sh", "-c", R"(read greeting; echo '{"weft_operator_times": 1, "name": "shell"}'; read question; )" + script};
}

struct Fault {
  std::string code;
  std::string message;
};

Fault fault_of(const std::vector<std::string>& command, milliseconds timeout = milliseconds(20000)) {
  try {
    const ExternalTimes times(command, timeout);
    times.time_of(matmul, OperatorPass::forward);
  } catch (const InputError& error) {
    return {error.diagnostics()[0].code, error.diagnostics()[0].message};
  }
  return {};
}

// chip.py: 2 m n k operations at 500 Tflop/s; it knows nothing but matmuls.
TEST(ExternalTimes, AsksEveryQuestionOnce) {
  const ExternalTimes times(chip("ideal"));
  EXPECT_EQ(times.origin(), "external: ideal chip");
  for (int i = 0; i < 3; ++i) {
    const auto time = times.time_of(matmul, OperatorPass::forward);
    ASSERT_TRUE(time);
    EXPECT_NEAR(time->in_us(), 2.0 * 16384 * 6144 * 4096 / 500e6, 0.01);
  }
  EXPECT_FALSE(times.time_of({"norm", RowWise{RowOperator::rms_norm, 4, 4}, {"BF16", 16}}, OperatorPass::forward));
  EXPECT_EQ(times.asked(), 2U);
}

TEST(ExternalTimes, MayBeAskedFromThreads) {
  const ExternalTimes times(chip("ideal"));
  std::array<std::optional<Duration>, 4> answers;
  {
    std::vector<std::jthread> threads;
    for (std::optional<Duration>& answer : answers) {
      threads.emplace_back([&] { answer = times.time_of(matmul, OperatorPass::backward_input); });
    }
  }
  for (const std::optional<Duration>& answer : answers) EXPECT_EQ(answer, answers[0]);
  EXPECT_EQ(times.asked(), 1U);
}

TEST(ExternalTimes, FaultsNameTheLine) {
  EXPECT_EQ(fault_of({"/nonexistent/chip"}).code, "external-not-started");
  // Says what it is told, which has no name.
  EXPECT_EQ(fault_of({"/bin/cat"}).code, "external-version");
  EXPECT_EQ(fault_of({"/bin/sh", "-c", R"(read g; echo '{"weft_operator_times": 2, "name": "x"}'; read q)"}).code,
            "external-version");
  const Fault ended = fault_of({"/bin/sh", "-c", "exit 3"});
  EXPECT_EQ(ended.code, "external-ended");
  EXPECT_NE(ended.message.find("ended with status 3"), std::string::npos) << ended.message;
  const Fault killed = fault_of(after_greeting("kill -KILL $$"));
  EXPECT_EQ(killed.code, "external-ended");
  EXPECT_NE(killed.message.find("was ended by signal 9"), std::string::npos) << killed.message;
  const Fault no_json = fault_of(after_greeting("echo 812.5us; read more"));
  EXPECT_EQ(no_json.code, "external-bad-answer");
  EXPECT_NE(no_json.message.find("got \"812.5us\""), std::string::npos) << no_json.message;
  for (const char* answer :
       {R"({"id": 2, "time_us": 1})", R"({"time_us": 1})", R"({"id": 1})", R"({"id": 1, "time_us": "1"})",
        R"({"id": 1, "time_us": -1})", R"({"id": 1, "time_us": 1e300})", "[1]", "", "{\"id\": 1, \"time_us\": 1"}) {
    EXPECT_EQ(fault_of(after_greeting(std::string("echo '") + answer + "'; read more")).code, "external-bad-answer") << answer;
  }
  const Fault refused = fault_of(after_greeting(R"(echo '{"id": 1, "error": "no such chip"}'; read more)"));
  EXPECT_EQ(refused.code, "external-error");
  EXPECT_NE(refused.message.find("no such chip"), std::string::npos);
  EXPECT_EQ(fault_of(after_greeting("head -c 100000 /dev/zero | tr '\\0' x; read more")).code, "external-bad-answer");
}

TEST(ExternalTimes, SilenceEndsWithATimeout) {
  EXPECT_EQ(fault_of(after_greeting("sleep 60"), milliseconds(300)).code, "external-timeout");
  // Half a line is none.
  EXPECT_EQ(fault_of(after_greeting("printf '{\"id\": 1'; sleep 60"), milliseconds(300)).code, "external-timeout");
}

// A program that ignores the end of its input and SIGTERM is killed; nothing is left to wait for.
TEST(LineProcess, StopsWhateverTheProgramDoes) {
  LineProcess stubborn({"/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"}, milliseconds(20000));
  EXPECT_EQ(stubborn.ask("are you?"), "ready");
  EXPECT_EQ(stubborn.stop(), "was ended by signal 9");
  EXPECT_THROW(stubborn.ask("still?"), InputError);
  LineProcess polite({"/bin/cat"}, milliseconds(20000));
  EXPECT_EQ(polite.ask("a"), "a");
  EXPECT_EQ(polite.stop(), "ended with status 0");
}

// No shell: what would be a command there is an argument here.
TEST(LineProcess, WordsAreNoShell) {
  LineProcess echo(command_words("/bin/sh -c 'read line; echo \"$0\"' '$(touch x); `ls`'", "--external"), milliseconds(20000));
  EXPECT_EQ(echo.ask(""), "$(touch x); `ls`");
  using Words = std::vector<std::string>;
  EXPECT_EQ(command_words("  python3  'my chip.py' --a=\"b c\" ''", "--external"), (Words{"python3", "my chip.py", "--a=b c", ""}));
  EXPECT_EQ(command_words("a;b $(c) *", "--external"), (Words{"a;b", "$(c)", "*"}));
  for (const char* wrong : {"", "  ", "'open", "''"}) EXPECT_THROW(command_words(wrong, "--external"), InputError) << wrong;
}

}  // namespace
}  // namespace weft::external_times_test
