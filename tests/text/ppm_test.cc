// Prediction by partial matching: fractions worked out by hand, probabilities that add up to 1, and
// code lengths that an arithmetic coder needs, which is here to prove it by decoding.
#include "text/compression/ppm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/random.h"
#include "support/error_of.h"

namespace heed::testing {
namespace {

// Letters that depend on those before, so that contexts are worth something.
std::string rhymes(size_t length, uint64_t seed) {
  const RandomStream random{seed, 0};
  std::string text;
  for (uint64_t i = 0; text.size() < length; ++i) {
    const char* const words[] = {"the fox ", "sees ", "a dog, ", "and then\n", "it naps. "};
    text += words[random.bits(i) % 5];
  }
  return text.substr(0, length);
}

// All 256 bytes, many times, in no order.
std::string noise(size_t length) {
  const RandomStream random{7, 1};
  std::string text;
  for (uint64_t i = 0; i < length; ++i) {
    text += static_cast<char>(random.bits(i) % 256);
  }
  return text;
}

// Witten, Neal and Cleary's coder of 1987, with 48 bits.
class Encoder {
 public:
  void say(const CodingStep& step) {
    const uint64_t range = (high_ - low_ + 1) / step.total;
    high_ = step.high == step.total ? high_ : low_ + range * step.high - 1;
    low_ += range * step.low;
    while (true) {
      if (high_ < kHalf || low_ >= kHalf) {
        put(low_ >= kHalf);
      } else if (low_ >= kQuarter && high_ < 3 * kQuarter) {
        ++pending_;
        low_ -= kQuarter;
        high_ -= kQuarter;
      } else {
        return;
      }
      low_ = (low_ & (kHalf - 1)) * 2;
      high_ = (high_ & (kHalf - 1)) * 2 + 1;
    }
  }
  std::vector<bool> end() {
    ++pending_;
    put(low_ >= kQuarter);
    return bits_;
  }

  static constexpr uint64_t kHalf = uint64_t{1} << 47;
  static constexpr uint64_t kQuarter = kHalf / 2;

 private:
  void put(bool bit) {
    bits_.push_back(bit);
    for (; pending_ > 0; --pending_) {
      bits_.push_back(!bit);
    }
  }

  uint64_t low_ = 0;
  uint64_t high_ = 2 * kHalf - 1;
  int64_t pending_ = 0;
  std::vector<bool> bits_;
};

class Decoder {
 public:
  explicit Decoder(std::vector<bool> bits) : bits_(std::move(bits)) {
    for (int i = 0; i < 48; ++i) {
      value_ = value_ * 2 + next();
    }
  }
  // Whether the step is the one that was said; then it is read.
  bool hears(const CodingStep& step) {
    const uint64_t range = (high_ - low_ + 1) / step.total;
    const uint64_t high = step.high == step.total ? high_ : low_ + range * step.high - 1;
    const uint64_t low = low_ + range * step.low;
    if (value_ < low || value_ > high) {
      return false;
    }
    low_ = low;
    high_ = high;
    while (high_ < Encoder::kHalf || low_ >= Encoder::kHalf ||
           (low_ >= Encoder::kQuarter && high_ < 3 * Encoder::kQuarter)) {
      const bool middle = low_ < Encoder::kHalf && high_ >= Encoder::kHalf;
      const uint64_t less = middle                   ? Encoder::kQuarter
                            : low_ >= Encoder::kHalf ? Encoder::kHalf
                                                     : 0;
      low_ = (low_ - less) * 2;
      high_ = (high_ - less) * 2 + 1;
      value_ = (value_ - less) * 2 + next();
    }
    return true;
  }

 private:
  uint64_t next() { return at_ < bits_.size() && bits_[at_++] ? 1 : 0; }

  std::vector<bool> bits_;
  size_t at_ = 0;
  uint64_t low_ = 0;
  uint64_t high_ = 2 * Encoder::kHalf - 1;
  uint64_t value_ = 0;
};

// The byte whose steps are heard. A step that two bytes share, an escape, is heard for both.
uint8_t decode_byte(const Ppm& model, const Decoder& decoder) {
  for (int byte = 0; byte < 256; ++byte) {
    Decoder trial = decoder;
    bool heard = true;
    for (const CodingStep& step : model.steps(static_cast<uint8_t>(byte))) {
      heard = heard && trial.hears(step);
    }
    if (heard) {
      return static_cast<uint8_t>(byte);
    }
  }
  ADD_FAILURE() << "no byte was said";
  return 0;
}

void expect_step(const CodingStep& step, uint64_t low, uint64_t high, uint64_t total) {
  EXPECT_EQ(step.low, low);
  EXPECT_EQ(step.high, high);
  EXPECT_EQ(step.total, total);
}

TEST(Ppm, CountsAsWorkedOutByHand) {
  Ppm model(1);
  // Nothing is known: one of 256.
  ASSERT_EQ(model.steps('a').size(), 1U);
  expect_step(model.steps('a')[0], 'a', 'a' + 1, 256);
  model.learn('a');
  model.learn('b');
  model.learn('a');
  // After "aba", the context "a" has b once: b 1/2, escape 1/2. The empty context has a once and b
  // once; a's second time was said there, since "b" knew nothing: a 2 * 2 - 1 = 3, b is ruled out.
  const std::vector<CodingStep> b = model.steps('b');
  ASSERT_EQ(b.size(), 1U);
  expect_step(b[0], 0, 1, 2);
  const std::vector<CodingStep> a = model.steps('a');
  ASSERT_EQ(a.size(), 2U);
  expect_step(a[0], 1, 2, 2);
  expect_step(a[1], 0, 3, 4);
  // c is new everywhere: two escapes, then one of the 254 that are left.
  const std::vector<CodingStep> c = model.steps('c');
  ASSERT_EQ(c.size(), 3U);
  expect_step(c[0], 1, 2, 2);
  expect_step(c[1], 3, 4, 4);
  expect_step(c[2], 'c' - 2, 'c' - 1, 254);
  EXPECT_NEAR(model.probability('c'), 0.5 * 0.25 / 254, 1e-15);
}

TEST(Ppm, ProbabilitiesAddUpToOne) {
  for (const int order : {0, 1, 2, 5}) {
    for (const std::string& text : {rhymes(400, 1), noise(6000), std::string(300, 'a')}) {
      Ppm model(order);
      for (size_t i = 0; i < text.size(); ++i) {
        if (i % 97 == 0 || i + 1 == text.size()) {
          double sum = 0.0;
          for (int byte = 0; byte < 256; ++byte) {
            sum += model.probability(static_cast<uint8_t>(byte));
          }
          ASSERT_NEAR(sum, 1.0, 1e-9) << "order " << order << " after " << i << " bytes";
        }
        model.learn(static_cast<uint8_t>(text[i]));
      }
    }
  }
}

TEST(Ppm, AnArithmeticCoderNeedsTheSameBitsAndGivesTheTextBack) {
  for (const std::string& text : {rhymes(3000, 2), noise(700)}) {
    Encoder encoder;
    Ppm sender(5);
    for (const char c : text) {
      for (const CodingStep& step : sender.steps(static_cast<uint8_t>(c))) {
        encoder.say(step);
      }
      sender.learn(static_cast<uint8_t>(c));
    }
    const std::vector<bool> bits = encoder.end();
    Ppm counter(5);
    const double wanted = counter.code(text);
    EXPECT_GE(static_cast<double>(bits.size()), wanted);
    EXPECT_LE(static_cast<double>(bits.size()), wanted + 3.0);
    EXPECT_EQ(counter.contexts(), sender.contexts());

    Decoder decoder(bits);
    Ppm receiver(5);
    std::string heard;
    while (heard.size() < text.size()) {
      const uint8_t byte = decode_byte(receiver, decoder);
      for (const CodingStep& step : receiver.steps(byte)) {
        decoder.hears(step);
      }
      receiver.learn(byte);
      heard += static_cast<char>(byte);
    }
    EXPECT_EQ(heard, text);
  }
}

TEST(Ppm, KnowsMoreAfterALikeText) {
  Ppm fresh(5);
  Ppm taught(5);
  taught.code(rhymes(5000, 3));
  const std::string text = rhymes(2000, 4);
  const double alone = fresh.code(text) / 2000;
  const double after = taught.code(text) / 2000;
  EXPECT_LT(after, alone);
  // Five words with a mean of 7.6 letters, drawn at random: no model needs much less than
  // log2(5) / 7.6 = 0.306 bits a letter.
  EXPECT_GT(after, 0.28);
  EXPECT_LT(after, 0.45);
  EXPECT_GT(Ppm(5).code(noise(4000)) / 4000, 8.0);
}

TEST(Ppm, RefusesOrdersThatMakeNoSense) {
  EXPECT_EQ(error_of([] { Ppm(-1); }), "[ppm] the order is -1, expected 0 to 16");
  EXPECT_EQ(error_of([] { Ppm(17); }), "[ppm] the order is 17, expected 0 to 16");
}

}  // namespace
}  // namespace heed::testing
