// The access log: what its lines say and do not say, and that it is all written.
#include "serve/http/access_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>
#include <vector>

#include "base/file.h"
#include "serve/http_client.h"
#include "support/error_of.h"
#include "support/text_files.h"

namespace heed::serve {
namespace {

using testing::Client;
using testing::comes_true;
using testing::request;

HttpAnswer an_answer() {
  using namespace std::chrono;
  return {.time = system_clock::time_point(milliseconds(1794897678042)),
          .client = "127.0.0.1",
          .id = "abc",
          .method = "POST",
          .path = "/v1/completions",
          .status = 200,
          .bytes = 1234,
          .seconds = 0.05678,
          .notes = {.model = "gpt2", .tokens_in = 5, .tokens_out = 40}};
}

TEST(AccessLog, LinesAsText) {
  EXPECT_EQ(
      log_line(an_answer(), LogFormat::text),
      "2026-11-17T06:41:18.042Z 127.0.0.1 POST /v1/completions 200 1234 56.8 gpt2 5 40 abc\n");
  HttpAnswer refused = an_answer();
  refused.method = refused.path = "";
  refused.notes = {};
  EXPECT_EQ(log_line(refused, LogFormat::text),
            "2026-11-17T06:41:18.042Z 127.0.0.1 - - 200 1234 56.8 - - - abc\n");
}

TEST(AccessLog, LinesAsJson) {
  const std::string line = log_line(an_answer(), LogFormat::json);
  EXPECT_TRUE(line.ends_with("}\n"));
  EXPECT_EQ(nlohmann::json::parse(line), nlohmann::json::parse(R"({
      "time": "2026-11-17T06:41:18.042Z", "client": "127.0.0.1", "method": "POST",
      "path": "/v1/completions", "status": 200, "bytes": 1234, "ms": 56.8, "model": "gpt2",
      "tokens_in": 5, "tokens_out": 40, "request_id": "abc"})"));
  HttpAnswer refused = an_answer();
  refused.method = "";
  refused.notes = {};
  const auto json = nlohmann::json::parse(log_line(refused, LogFormat::json));
  EXPECT_TRUE(json["method"].is_null());
  EXPECT_TRUE(json["tokens_in"].is_null());
}

TEST(AccessLog, APathCannotForgeLines) {
  HttpAnswer answer = an_answer();
  answer.path = "/a b\r\n2026 forged\x1b[31m\xc2\x9b\"%\\" + std::string(9000, 'x');
  for (const LogFormat format : {LogFormat::text, LogFormat::json}) {
    const std::string line = log_line(answer, format);
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
    EXPECT_TRUE(std::all_of(line.begin(), line.end() - 1, [](char c) {
      return c >= ' ' && c < 127;
    })) << line;
    EXPECT_LT(line.size(), 1500U);
  }
  EXPECT_NE(
      log_line(answer, LogFormat::text).find(" /a%20b%0D%0A2026%20forged%1B[31m%C2%9B%22%25%5C"),
      std::string::npos);
}

TEST(AccessLog, AppendsAndWritesAllAtItsEnd) {
  const testing::TemporaryFolder folder;
  const std::string file = (folder / "access.log").string();
  std::ofstream(file) << "before\n";
  {
    AccessLog log(file, LogFormat::text);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&log] {
        for (int n = 0; n < 1000; ++n) {
          log.add(an_answer());
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  const std::string written = read_file(file);
  EXPECT_TRUE(written.starts_with("before\n2026-11-17T"));
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 4001);
}

TEST(AccessLog, OpensItsFileAgain) {
  const testing::TemporaryFolder folder;
  const std::string file = (folder / "access.log").string();
  AccessLog log(file, LogFormat::text);
  log.add(an_answer());
  EXPECT_TRUE(comes_true([&] { return !read_file(file).empty(); }));
  std::filesystem::rename(file, file + ".1");
  log.reopen();
  EXPECT_TRUE(comes_true([&] { return std::filesystem::exists(file); }));
  log.add(an_answer());
  EXPECT_TRUE(comes_true([&] { return !read_file(file).empty(); }));
  EXPECT_EQ(read_file(file), read_file(file + ".1"));
}

// A pipe that nobody reads is the slowest of disks.
TEST(AccessLog, ASlowFileDoesNotHoldUpRequests) {
  const testing::TemporaryFolder folder;
  const std::string file = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  const int reader = ::open(file.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  const auto start = std::chrono::steady_clock::now();
  std::thread drain;
  ::testing::internal::CaptureStderr();
  {
    AccessLog log(file, LogFormat::text);
    for (int n = 0; n < 100000; ++n) {  // 8 MB
      log.add(an_answer());
    }
    EXPECT_LT(testing::seconds_since(start), 10);
    ASSERT_EQ(::fcntl(reader, F_SETFL, 0), 0);  // from here on reading waits
    drain = std::thread([reader] {
      char piece[65536];
      while (::read(reader, piece, sizeof(piece)) > 0) {
      }
    });
  }
  drain.join();
  ::close(reader);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("lines are lost"), std::string::npos);
}

TEST(AccessLog, AFileThatCannotBeOpenedIsAnError) {
  EXPECT_EQ(testing::error_of([] { AccessLog log("/no/such/folder/access.log", LogFormat::text); }),
            "[serve] cannot write the log /no/such/folder/access.log: No such file or directory");
}

// The server's part: what it tells the log.
struct Logged {
  std::mutex mutex;
  std::vector<HttpAnswer> answers;

  HttpAnswer last(size_t count) {
    EXPECT_TRUE(comes_true([&] {
      const std::lock_guard lock(mutex);
      return answers.size() == count;
    }));
    const std::lock_guard lock(mutex);
    return answers.empty() ? HttpAnswer{} : answers.back();
  }
};

std::unique_ptr<HttpServer> start_server(Logged& logged) {
  auto server = std::make_unique<HttpServer>(HttpOptions{
      .port = 0, .keys = {"a-key"}, .header_seconds = 0.2, .log = [&](const HttpAnswer& answer) {
        const std::lock_guard lock(logged.mutex);
        logged.answers.push_back(answer);
      }});
  server->route("POST", "/echo", [](const HttpRequest& r) {
    r.notes = {.model = "parrot", .tokens_in = 1, .tokens_out = 2};
    return HttpResponse{.body = r.body};
  });
  server->route("GET", "/fails",
                [](const HttpRequest&) -> HttpResponse { throw std::logic_error("a\nsecret"); });
  server->route("GET", "/stream", [](const HttpRequest& r) {
    return HttpResponse{.stream = [&r](const Writer& write) {
      r.notes.stream_status = 500;
      write("data: half\n\n" + error_json(HttpError(500, "lost"), r));
    }};
  });
  server->start();
  return server;
}

constexpr const char* kKey = "x-api-key: a-key\r\n";

TEST(AccessLog, EveryRequestIsLogged) {
  Logged logged;
  const auto server = start_server(logged);
  Client client(server->port());
  const testing::Reply reply = client.ask(request("POST /echo?q=a-secret", "a-prompt", kKey));
  const HttpAnswer answer = logged.last(1);
  EXPECT_EQ(answer.method, "POST");
  EXPECT_EQ(answer.path, "/echo");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.client, "127.0.0.1");
  EXPECT_EQ(answer.bytes, reply.head.size() + reply.body.size());
  EXPECT_EQ(answer.id, reply.header("X-Request-Id"));
  EXPECT_EQ(answer.notes.model, "parrot");
  EXPECT_EQ(answer.notes.tokens_out, 2);
  EXPECT_LT(answer.seconds, 5);
  for (const LogFormat format : {LogFormat::text, LogFormat::json}) {
    const std::string line = log_line(answer, format);
    for (const char* secret : {"a-key", "a-secret", "a-prompt"}) {
      EXPECT_EQ(line.find(secret), std::string::npos) << line;
    }
  }
  client.ask(request("GET /none%0Aforged", "", kKey));
  EXPECT_EQ(logged.last(2).status, 404);
  EXPECT_EQ(logged.last(2).path, "/none\nforged");
  client.ask(request("POST /echo", "{}"));
  EXPECT_EQ(logged.last(3).status, 401);
  client.close();
  Client nonsense(server->port());
  nonsense.send("nonsense");
  EXPECT_EQ(logged.last(4).status, 400);
  EXPECT_EQ(logged.last(4).method + logged.last(4).path, "");
  Client slow(server->port());
  slow.send("GET /");
  EXPECT_EQ(logged.last(5).status, 408);
  EXPECT_EQ(logged.last(5).id, slow.reply().header("X-Request-Id"));
}

TEST(AccessLog, ReasonsOfInternalErrorsGoToStderrAlone) {
  Logged logged;
  const auto server = start_server(logged);
  Client client(server->port());
  const std::string headers = std::string(kKey) + "X-Request-Id: mine-1\r\n";
  ::testing::internal::CaptureStderr();
  const testing::Reply reply = client.ask(request("GET /fails", "", headers));
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.header("X-Request-Id"), "mine-1");
  EXPECT_EQ(nlohmann::json::parse(reply.body)["error"]["request_id"], "mine-1");
  const testing::Reply stream = client.ask(request("GET /stream", "", headers));
  EXPECT_NE(stream.body.find("\"request_id\":\"mine-1\""), std::string::npos);
  EXPECT_EQ(logged.last(2).status, 500);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "[http] request mine-1, GET /fails: a\\x0asecret\n"
            "[http] request mine-1, GET /stream: lost\n");
  for (const std::string& body : {reply.body, stream.body}) {
    EXPECT_EQ(body.find("secret"), std::string::npos);
    EXPECT_EQ(body.find("lost"), std::string::npos);
  }
}

TEST(AccessLog, RequestIdsOfClientsAreKeptIfTheyAreSound) {
  Logged logged;
  const auto server = start_server(logged);
  Client client(server->port());
  const auto id_for = [&](const std::string& given) {
    return client.ask(request("POST /echo", "x", kKey + ("X-Request-Id: " + given) + "\r\n"))
        .header("X-Request-Id");
  };
  for (const std::string id : {"a", "550e8400-e29b-41d4-a716-446655440000", "trace:7_a.b"}) {
    EXPECT_EQ(id_for(id), id);
  }
  EXPECT_EQ(id_for(std::string(128, 'a')), std::string(128, 'a'));
  const std::regex made("[0-9a-f]{16}");
  for (const std::string& id :
       {std::string(), std::string(129, 'a'), std::string("a b"), std::string("a\"b"),
        std::string("\xc3\xa4"), std::string("a\r\nX-Request-Id: b")}) {
    EXPECT_TRUE(std::regex_match(id_for(id), made)) << id;
  }
  EXPECT_NE(id_for(""), id_for(""));
}

}  // namespace
}  // namespace heed::serve
