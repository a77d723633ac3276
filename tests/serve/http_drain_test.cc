// A server that is going to stop: first it answers everything and closes connections after their
// answer, then requests that come too late are told so.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "serve/http/http.h"
#include "serve/http_client.h"

namespace heed::serve {
namespace {

using testing::Client;
using testing::comes_true;
using testing::Reply;
using testing::request;

std::unique_ptr<HttpServer> make_echo(HttpOptions options = {}) {
  options.port = 0;
  auto server = std::make_unique<HttpServer>(options);
  server->route("POST", "/echo", [](const HttpRequest& r) { return HttpResponse{.body = r.body}; });
  return server;
}

TEST(HttpDrain, EverythingIsAnsweredAndConnectionsAreClosed) {
  const auto server = make_echo();
  server->start();
  Client kept(server->port());
  Client idle(server->port());
  const Reply before = kept.ask(request("POST /echo", "before"));
  EXPECT_EQ(before.header("Connection"), "");
  EXPECT_FALSE(server->draining());
  server->drain();
  EXPECT_TRUE(server->draining());
  const Reply last = kept.ask(request("POST /echo", "last"));
  EXPECT_EQ(last.body, "last");
  EXPECT_EQ(last.header("Connection"), "close");
  EXPECT_TRUE(kept.sees_close());
  Client fresh(server->port());
  EXPECT_EQ(fresh.ask(request("POST /echo", "fresh")).body, "fresh");
  EXPECT_TRUE(fresh.sees_close());
  EXPECT_FALSE(idle.sees_close(0.1));  // it may be about to ask
  EXPECT_EQ(idle.ask(request("POST /echo", "idle")).body, "idle");
}

TEST(HttpDrain, RequestsThatRunCloseTheirConnectionToo) {
  std::atomic<int> inside = 0;
  std::atomic<bool> go = false;
  const auto server = make_echo();
  const auto wait = [&] {
    ++inside;
    comes_true([&] { return go.load(); });
  };
  server->route("GET", "/wait", [&](const HttpRequest&) {
    wait();
    return HttpResponse{.body = "waited"};
  });
  server->route("GET", "/stream", [&](const HttpRequest&) {
    return HttpResponse{.stream = [&](const Writer& write) {
      write("be");
      wait();
      write("gun");
    }};
  });
  server->start();
  Client waiting(server->port());
  waiting.send(request("GET /wait"));
  Client streaming(server->port());
  streaming.send(request("GET /stream"));
  EXPECT_TRUE(comes_true([&] { return inside == 2; }));
  server->drain();
  go = true;
  const Reply waited = waiting.reply();
  EXPECT_EQ(waited.body, "waited");
  EXPECT_EQ(waited.header("Connection"), "close");
  EXPECT_TRUE(waiting.sees_close());
  EXPECT_EQ(streaming.reply().body, "begun");
}

TEST(HttpDrain, DrainingAfterStoppingDoesNotGoBack) {
  const auto server = make_echo();
  server->start();
  server->stop();
  server->drain();
  server->stop();
  EXPECT_TRUE(server->draining());
}

// The thread that waits for connections is kept busy until stop() has begun: the requests come too
// late then, but they came.
TEST(HttpDrain, ARequestThatComesTooLateIsToldSo) {
  std::atomic<bool> busy = false, go = false;
  const auto server = make_echo({.log = [&](const HttpAnswer& answer) {
    if (answer.status == 400) {
      busy = true;
      comes_true([&] { return go.load(); });
    }
  }});
  server->start();
  Client small(server->port());
  Client large(server->port());
  Client half(server->port());
  EXPECT_TRUE(comes_true([&] { return server->connections() == 3; }));
  Client malformed(server->port());
  malformed.send("\x16\x03\x01\r\n\r\n");
  EXPECT_TRUE(comes_true([&] { return busy.load(); }));
  small.send(request("POST /echo", "small"));
  large.send(request("POST /echo", std::string(size_t{200} << 10, 'x')));
  half.send("POST /echo HT");
  std::thread stopper([&] { server->stop(); });
  EXPECT_TRUE(comes_true([&] { return server->draining(); }));
  go = true;
  malformed.close();
  for (Client* client : {&small, &large}) {
    const Reply late = client->reply();
    EXPECT_EQ(late.status, 503);
    EXPECT_EQ(late.header("Retry-After"), "1");
    EXPECT_EQ(late.header("Connection"), "close");
    EXPECT_NE(late.body.find("\"code\":\"stopping\""), std::string::npos);
    client->close();
  }
  EXPECT_TRUE(half.sees_close());
  stopper.join();
  EXPECT_EQ(server->connections(), 0U);
}

}  // namespace
}  // namespace heed::serve
