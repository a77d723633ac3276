// Many connections: those without a request cost nothing but a descriptor, so that others are
// answered beside them, and there is always room for the next.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "serve/http/http.h"
#include "serve/http_client.h"

namespace heed::serve {
namespace {

using namespace std::chrono_literals;
using testing::Client;
using testing::comes_true;
using testing::Reply;
using testing::request;
using testing::seconds_since;
using Clock = std::chrono::steady_clock;
using Clients = std::vector<std::unique_ptr<Client>>;

struct Blocking {
  std::atomic<int> inside = 0;
  std::atomic<bool> go = false;
};

// /wait answers when told to.
std::unique_ptr<HttpServer> start_server(Blocking& blocking, HttpOptions options = {}) {
  options.port = 0;
  auto server = std::make_unique<HttpServer>(options);
  server->route("GET", "/health", [](const HttpRequest&) { return HttpResponse{.body = "{}"}; });
  server->route("POST", "/echo", [](const HttpRequest& r) { return HttpResponse{.body = r.body}; });
  server->route("POST", "/wait", [&blocking](const HttpRequest& r) {
    ++blocking.inside;
    comes_true([&] { return blocking.go.load(); });
    return HttpResponse{.body = r.body};
  });
  server->start();
  return server;
}

Clients connect(const HttpServer& server, size_t count, const std::string& bytes = {}) {
  Clients clients;
  for (size_t i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<Client>(server.port()));
    clients.back()->send(bytes);
  }
  return clients;
}

// The server and its clients have to have a descriptor for each end.
size_t with_descriptors(size_t connections) {
  rlimit limit = {};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  return std::min<size_t>(connections, (limit.rlim_cur - 200) / 2);
}

void expect_quick(const HttpServer& server) {
  const auto start = Clock::now();
  EXPECT_EQ(Client(server.port()).ask(request("GET /health")).body, "{}");
  EXPECT_EQ(Client(server.port()).ask(request("POST /echo", "well")).body, "well");
  EXPECT_LT(seconds_since(start), 1);
}

TEST(HttpConnections, IdleOnesHinderNobody) {
  Blocking blocking;
  const auto server = start_server(blocking);
  const Clients silent = connect(*server, 256);
  EXPECT_TRUE(comes_true([&] { return server->connections() == 256; }));
  expect_quick(*server);
  const Clients half = connect(*server, 256, "GET /health HTTP/1.1\r\nHost: loc");
  EXPECT_TRUE(comes_true([&] { return server->connections() >= 512; }));
  expect_quick(*server);
  Clients served;
  for (int i = 0; i < 256; ++i) {
    served.push_back(std::make_unique<Client>(server->port()));
    EXPECT_EQ(served.back()->ask(request("GET /health")).body, "{}");
  }
  expect_quick(*server);
  // All of them are still there.
  half.front()->send("alhost\r\n\r\n");
  EXPECT_EQ(half.front()->reply().body, "{}");
  EXPECT_EQ(silent.front()->ask(request("GET /health")).body, "{}");
  EXPECT_EQ(served.front()->ask(request("POST /echo", "again")).body, "again");
}

TEST(HttpConnections, AThousandAndMore) {
  Blocking blocking;
  const size_t count = with_descriptors(1500);
  const size_t most = count * 2 / 3;
  const auto server = start_server(blocking, {.most_connections = most});
  const Clients idle = connect(*server, count, "POST /echo HT");
  expect_quick(*server);
  EXPECT_LE(server->connections(), most + 4);
  // Those that waited the longest made room.
  EXPECT_TRUE(idle.front()->sees_close());
  EXPECT_EQ(idle.back()->ask("TP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nok").body,
            "ok");
}

TEST(HttpConnections, ThoseThatAreAnsweredMakeNoRoom) {
  Blocking blocking;
  const auto server = start_server(blocking, {.most_connections = 2});
  Client one(server->port());
  one.send(request("POST /wait", "one"));
  Client two(server->port());
  two.send(request("POST /wait", "two"));
  EXPECT_TRUE(comes_true([&] { return blocking.inside == 2; }));
  Client three(server->port());
  const auto start = Clock::now();
  const Reply refused = three.reply();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_EQ(refused.header("Connection"), "close");
  EXPECT_TRUE(three.sees_close());
  EXPECT_LT(seconds_since(start), 1);
  blocking.go = true;
  EXPECT_EQ(one.reply().body, "one");
  EXPECT_EQ(two.reply().body, "two");
  // Now both are idle, and the longer idle one makes room.
  EXPECT_EQ(Client(server->port()).ask(request("GET /health")).body, "{}");
}

TEST(HttpConnections, RequestsWithoutABodyAreAnsweredWhenThereAreTooMany) {
  Blocking blocking;
  const auto server = start_server(blocking, {.most_requests = 4});
  const Clients busy = connect(*server, 4, request("POST /wait", "busy"));
  EXPECT_TRUE(comes_true([&] { return blocking.inside == 4; }));
  const Reply refused = Client(server->port()).ask(request("POST /echo", "more"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(Client(server->port()).ask(request("GET /health")).body, "{}");
  }
  blocking.go = true;
  EXPECT_EQ(busy.front()->reply().body, "busy");
  EXPECT_TRUE(comes_true(
      [&] { return Client(server->port()).ask(request("POST /echo", "room")).body == "room"; }));
}

TEST(HttpConnections, SlowBodiesMakeRoom) {
  Blocking blocking;
  const auto server = start_server(blocking, {.most_requests = 4});
  const Clients slow = connect(
      *server, 4, "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf");
  EXPECT_TRUE(comes_true(
      [&] { return Client(server->port()).ask(request("POST /echo", "more")).body == "more"; }));
  EXPECT_EQ(slow.front()->reply().status, 408);
  slow.back()->send("whole");
  EXPECT_EQ(slow.back()->reply().body, "halfwhole");
}

TEST(HttpConnections, ClientsThatDoNotReadMakeRoom) {
  Blocking blocking;
  blocking.go = true;
  const auto server = start_server(blocking, {.most_requests = 2});
  std::string requests;  // whose answers are more than any buffer holds
  for (int i = 0; i < 20; ++i) {
    requests += request("POST /wait", std::string(1 << 20, 'x'));
  }
  const Clients unread = connect(*server, 2);
  std::vector<std::thread> senders;
  for (const auto& client : unread) {
    senders.emplace_back([&] { client->send(requests); });
  }
  for (int answered = -1; answered < 2 || answered != blocking.inside;) {  // until they are stuck
    answered = blocking.inside;
    std::this_thread::sleep_for(300ms);
  }
  EXPECT_TRUE(comes_true(
      [&] { return Client(server->port()).ask(request("POST /echo", "more")).body == "more"; }));
  for (const auto& client : unread) {
    ::shutdown(client->socket(), SHUT_RDWR);  // ends the sending
  }
  for (std::thread& sender : senders) {
    sender.join();
  }
}

TEST(HttpConnections, LargeBodiesShareABudget) {
  Blocking blocking;
  const auto server = start_server(blocking, {.most_bodies = 100000});
  const std::string large(60000, 'x');
  Client first(server->port());
  first.send(request("POST /wait", large));
  EXPECT_TRUE(comes_true([&] { return blocking.inside == 1; }));
  const Reply refused = Client(server->port()).ask(request("POST /echo", large));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("Retry-After"), "1");
  EXPECT_TRUE(comes_true([&] {  // what the refused request took comes back after its answer
    return Client(server->port()).ask(request("POST /echo", "small")).body == "small";
  }));
  blocking.go = true;
  EXPECT_EQ(first.reply().body, large);
  for (int i = 0; i < 5; ++i) {  // all that was taken has come back
    EXPECT_TRUE(comes_true(
        [&] { return Client(server->port()).ask(request("POST /echo", large)).body == large; }));
  }
}

TEST(HttpConnections, ManyFastOnes) {
  Blocking blocking;
  const auto server = start_server(blocking);
  for (int i = 0; i < 10000; ++i) {
    Client client(server->port());
    if (i % 3 == 1) {
      client.send("GET /health HTTP/1.1\r\n");
    } else if (i % 3 == 2) {
      client.send(request("GET /health"));
    }
  }
  EXPECT_EQ(Client(server->port()).ask(request("GET /health")).body, "{}");
  EXPECT_TRUE(comes_true([&] { return server->connections() == 0; }));
  expect_quick(*server);
}

TEST(HttpConnections, RequestsInARowTakeTurnsWithOthers) {
  Blocking blocking;
  const auto server = start_server(blocking, {.most_requests = 1});
  Client many(server->port());
  std::string requests;
  for (int i = 0; i < 500; ++i) {
    requests += request("POST /echo", std::to_string(i));
  }
  many.send(requests);
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(many.reply().body, std::to_string(i));
  }
  EXPECT_TRUE(comes_true([&] {  // the last one's place is free after its answer
    return Client(server->port()).ask(request("POST /echo", "free")).body == "free";
  }));
}

TEST(HttpConnections, StopClosesThemAll) {
  Blocking blocking;
  const auto server = start_server(blocking);
  const Clients idle = connect(*server, 100);
  const Clients half = connect(*server, 100, "GET / HT");
  EXPECT_TRUE(comes_true([&] { return server->connections() == 200; }));
  const auto start = Clock::now();
  server->stop();
  EXPECT_LT(seconds_since(start), 1);
  EXPECT_EQ(server->connections(), 0U);
  EXPECT_TRUE(idle.back()->sees_close());
  EXPECT_TRUE(half.back()->sees_close());
}

}  // namespace
}  // namespace heed::serve
