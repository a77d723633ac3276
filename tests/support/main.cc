// main() of every test program. OpenMP's threads wait without spinning: many test programs share
// the cores, and threads that spin take them from each other, which makes tests hundreds of times
// slower. OpenMP reads the setting before main(), so the program starts itself once more.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace {

void wait_passively(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) {
    return;
  }
  ::setenv("OMP_WAIT_POLICY", "passive", 0);
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    ::execv(self.c_str(), argv);  // if it fails, tests are slow and no worse
  }
}

}  // namespace

int main(int argc, char** argv) {
  wait_passively(argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
