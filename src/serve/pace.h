// So that what is told now and then is not told too often.
#pragma once

#include <chrono>

namespace heed::serve {

class Pace {
 public:
  // Whether it is time again; then the next time is a tenth of a second later.
  bool due() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) {
      return false;
    }
    next_ = now + std::chrono::milliseconds(100);
    return true;
  }

 private:
  std::chrono::steady_clock::time_point next_ = {};
};

}  // namespace heed::serve
