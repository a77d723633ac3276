// The smallest program that uses an installed Heed.
#include <heed/heed.h>

#include <cstdio>
#include <vector>

int main() {
  const heed::Tensor a = heed::Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2});
  const heed::Tensor b = heed::Tensor::from(std::vector<float>{5, 6, 7, 8}, {2, 2});
  const std::vector<float> c = heed::matmul(a, b).to_vector();
  std::printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
}
