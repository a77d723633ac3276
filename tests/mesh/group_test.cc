// Collectives between processes, which are threads here.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support/error_of.h"
#include "support/thread_mesh.h"

namespace heed::testing {
namespace {

MeshConfig line(int processes) { return {.axes = fmt::format("batch:{}", processes)}; }

// What a process brings along: different for each, and not exact in bf16.
float brought(int rank, int64_t i) { return std::sin(static_cast<float>(i * 7 + rank * 3)); }

std::vector<float> brought_by(int rank, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    values[static_cast<size_t>(i)] = brought(rank, i);
  }
  return values;
}

// Summed in the order of the processes.
float sum_of(int processes, int64_t i, bool narrow) {
  float sum = 0.0F;
  for (int rank = 0; rank < processes; ++rank) {
    const float value = brought(rank, i);
    sum = rank == 0 ? value : sum + value;
  }
  return narrow ? static_cast<float>(bf16(sum)) : sum;
}

TEST(Group, AllReduceSumsInTheOrderOfTheMembers) {
  for (const int processes : {1, 2, 3, 4}) {
    for (const int64_t count : {1, 2, 7, 1000}) {
      SCOPED_TRACE(fmt::format("{} processes, {} values", processes, count));
      on_mesh(line(processes), [&](const Mesh& mesh) {
        std::vector<float> values = brought_by(mesh.rank(), count);
        mesh.world().all_reduce(std::span(values));
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(values[static_cast<size_t>(i)], sum_of(processes, i, false)) << i;
        }
      });
    }
  }
}

TEST(Group, AllReduceInBf16IsTheSameOnAllMembers) {
  std::mutex mutex;
  std::vector<std::vector<float>> results;
  on_mesh(line(3), [&](const Mesh& mesh) {
    std::vector<float> values = brought_by(mesh.rank(), 100);
    mesh.world().all_reduce(std::span(values), DType::bf16);
    const std::lock_guard lock(mutex);
    results.push_back(values);
  });
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_NEAR(results[0][static_cast<size_t>(i)], sum_of(3, i, false), 0.02) << i;
  }
}

TEST(Group, SumsOfBf16AreMadeInF32) {
  on_mesh(line(4), [&](const Mesh& mesh) {
    std::vector<bf16> values;
    for (int64_t i = 0; i < 50; ++i) {
      values.emplace_back(brought(mesh.rank(), i));
    }
    mesh.world().all_reduce(std::span(values));
    for (int64_t i = 0; i < 50; ++i) {
      float sum = 0.0F;
      for (int rank = 0; rank < 4; ++rank) {
        sum += static_cast<float>(bf16(brought(rank, i)));
      }
      ASSERT_EQ(values[static_cast<size_t>(i)].bits, bf16(sum).bits) << i;
    }
  });
}

TEST(Group, ReduceScatterAndAllGatherTakeUnequalParts) {
  const Bounds bounds{0, 5, 5, 12};
  on_mesh(line(3), [&](const Mesh& mesh) {
    std::vector<float> values = brought_by(mesh.rank(), 12);
    mesh.world().reduce_scatter(std::span(values), bounds);
    for (int64_t i = 0; i < 12; ++i) {
      const bool own = i >= bounds[static_cast<size_t>(mesh.rank())] &&
                       i < bounds[static_cast<size_t>(mesh.rank()) + 1];
      ASSERT_EQ(values[static_cast<size_t>(i)],
                own ? sum_of(3, i, false) : brought(mesh.rank(), i));
    }
    mesh.world().all_gather(std::span(values), bounds);
    for (int64_t i = 0; i < 12; ++i) {
      ASSERT_EQ(values[static_cast<size_t>(i)], sum_of(3, i, false));
    }
  });
}

TEST(Group, TextsAndNumbersOfAllMembers) {
  on_mesh(line(3), [&](const Mesh& mesh) {
    const Group& world = mesh.world();
    const std::vector<std::string> expected{"a", "bb", "ccc"};
    const auto rank = static_cast<size_t>(mesh.rank());
    EXPECT_EQ(world.gather(expected[rank]), expected);
    EXPECT_EQ(world.broadcast_text(expected[rank], 1), "bb");
    EXPECT_EQ(world.broadcast_text(rank == 2 ? "" : "x", 2), "");
    EXPECT_EQ(world.sum(mesh.rank() + 1.0), 6.0);
    EXPECT_EQ(world.max(-mesh.rank()), 0.0);
    world.barrier();
  });
}

TEST(Group, TextsGoFromOneMemberToAnother) {
  on_mesh(line(3), [&](const Mesh& mesh) {
    const Group& world = mesh.world();
    const std::vector<std::string> sent{std::string(100'000, 'a'), "", std::string("b\0c", 3)};
    if (mesh.rank() > 0) {
      for (const std::string& text : sent) {
        world.send(text, 0);
      }
      return;
    }
    for (const int from : {2, 1}) {
      for (const std::string& text : sent) {
        EXPECT_EQ(world.receive(from), text);
      }
    }
  });
}

TEST(Group, NamesTheProcessThatDoesNotAnswer) {
  const std::string text = error_of([] {
    on_mesh({.axes = "batch:3", .deadline = 1.0}, [](const Mesh& mesh) {
      if (mesh.rank() != 1) {
        mesh.world().barrier();
      }
    });
  });
  EXPECT_NE(text.find("process 1 does not answer"), std::string::npos) << text;
}

TEST(Mesh, NumbersTheLastAxisFirst) {
  on_mesh({.axes = "batch:2,model:3"}, [](const Mesh& mesh) {
    EXPECT_EQ(mesh.along("batch").size(), 2);
    EXPECT_EQ(mesh.along("heads").size(), 3);
    EXPECT_EQ(mesh.along("batch").index(), mesh.rank() / 3);
    EXPECT_EQ(mesh.along("heads").index(), mesh.rank() % 3);
    EXPECT_EQ(mesh.along("batch").sum(mesh.rank()), mesh.rank() % 3 * 2 + 3);
    EXPECT_EQ(mesh.along("hidden").sum(mesh.rank()), mesh.rank() / 3 * 9 + 3);
    EXPECT_TRUE(mesh.splits_model());
    const Part part = mesh.part("heads", 6);
    EXPECT_EQ(part.begin, mesh.rank() % 3 * 2);
    EXPECT_EQ(part.size(), 2);
    EXPECT_EQ(mesh.describe(), "batch:2,model:3");
  });
}

TEST(Mesh, SplitsWhatTheLayoutSays) {
  on_mesh({.axes = "batch:1,model:2", .layout = "heads:model"}, [](const Mesh& mesh) {
    EXPECT_TRUE(mesh.part("hidden", 7).whole());
    EXPECT_FALSE(mesh.part("heads", 8).whole());
    EXPECT_TRUE(mesh.part("heads", 7).whole());
    EXPECT_EQ(mesh.part("heads", 7, true).size(), mesh.rank() == 0 ? 3 : 4);
  });
  const Mesh alone;
  EXPECT_TRUE(alone.alone());
  EXPECT_TRUE(alone.part("heads", 7).whole());
}

TEST(Mesh, RefusesWhatItCannotRead) {
  EXPECT_NE(error_of([] { parse_axes("batch"); }).find("'batch'"), std::string::npos);
  EXPECT_NE(error_of([] { parse_axes("batch:0"); }).find("'0'"), std::string::npos);
  EXPECT_NE(error_of([] { parse_axes("batch:2,batch:2"); }).find("twice"), std::string::npos);
  EXPECT_NE(error_of([] { parse_layout("rows:model"); }).find("'rows'"), std::string::npos);
  ThreadMail mail;
  ThreadTransport one(mail, 0, 1);
  const std::string text = error_of([&] { const Mesh mesh(one, {.axes = "batch:2"}); });
  EXPECT_NE(text.find("has 2 processes, and 1 were started"), std::string::npos) << text;
}

}  // namespace
}  // namespace heed::testing
