// Requests that are slow, cut, endless or nonsense: each is refused or closed in time, and the next
// good request is answered.
#include <gtest/gtest.h>
#include <zlib.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/http/http.h"
#include "serve/http_client.h"

namespace heed::serve {
namespace {

using namespace std::chrono_literals;
using testing::Client;
using testing::Reply;
using testing::request;
using testing::seconds_since;
using Clock = std::chrono::steady_clock;

std::unique_ptr<HttpServer> start_server(HttpOptions options = {}) {
  options.port = 0;
  auto server = std::make_unique<HttpServer>(options);
  server->route("GET", "/", [](const HttpRequest&) { return HttpResponse{.body = "{}"}; });
  server->route("POST", "/echo", [](const HttpRequest& r) { return HttpResponse{.body = r.body}; });
  server->start();
  return server;
}

// The methods and paths of requests.
struct Logged {
  void operator()(const HttpAnswer& answer) {
    const std::lock_guard lock(mutex);
    text += answer.method + answer.path + ";";
  }
  std::mutex mutex;
  std::string text;
};

void expect_well(const HttpServer& server) {
  Client client(server.port());
  EXPECT_EQ(client.ask(request("POST /echo", "well")).body, "well");
}

// Sends byte by byte until the server has had enough; the seconds that took.
double trickle(Client& client, const std::string& bytes) {
  const auto start = Clock::now();
  for (const char byte : bytes) {
    if (!client.send({&byte, 1}) || client.receive(0.02)) {
      break;
    }
  }
  return seconds_since(start);
}

TEST(HttpAbuse, ASlowHeadIsCutOff) {
  const auto server = start_server({.header_seconds = 0.4});
  Client client(server->port());
  client.send("GET / HTTP/1.1\r\nX-Slow: ");
  const double seconds = trickle(client, std::string(500, 'x'));
  EXPECT_GE(seconds, 0.35);
  EXPECT_LT(seconds, 2);
  EXPECT_EQ(client.reply().status, 408);
  client.close();
  // One that begins and then falls silent.
  Client silent(server->port());
  silent.send("GET / HT");
  EXPECT_EQ(silent.reply().status, 408);
  expect_well(*server);
}

TEST(HttpAbuse, ASlowHeadAfterAGoodRequestIsCutOff) {
  const auto server = start_server({.header_seconds = 0.3});
  Client client(server->port());
  client.send(request("GET /") + "GET / HTTP/1.1\r\n");
  EXPECT_EQ(client.reply().status, 200);
  const auto start = Clock::now();
  EXPECT_EQ(client.reply().status, 408);
  EXPECT_LT(seconds_since(start), 2);
}

TEST(HttpAbuse, ASlowBodyIsCutOff) {
  const auto server = start_server({.body_seconds = 0.4});
  for (const char* framing : {"Content-Length: 500", "Transfer-Encoding: chunked"}) {
    Client client(server->port());
    client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\n" + std::string(framing) + "\r\n\r\n");
    const double seconds = trickle(client, "1f4\r\n" + std::string(500, 'x'));
    EXPECT_GE(seconds, 0.35) << framing;
    EXPECT_LT(seconds, 2) << framing;
    EXPECT_EQ(client.reply().status, 408) << framing;
  }
  expect_well(*server);
}

TEST(HttpAbuse, IdleConnectionsAreClosed) {
  const auto server = start_server({.idle_seconds = 0.3});
  Client silent(server->port());
  Client served(server->port());
  EXPECT_EQ(served.ask(request("GET /")).status, 200);
  EXPECT_TRUE(silent.sees_close(2));
  EXPECT_TRUE(served.sees_close(2));
  EXPECT_EQ(silent.input() + served.input(), "");
}

TEST(HttpAbuse, ABodyOverTheLimitIsNotRead) {
  const auto server = start_server({.most_body = 1000});
  for (const char* length : {"1001", "99999999999", "18446744073709551616"}) {
    Client client(server->port());
    const auto start = Clock::now();
    client.send(
        "POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: " +
        std::string(length) + "\r\n\r\n");
    EXPECT_EQ(client.reply().status, 413) << length;  // though no byte of it was sent
    EXPECT_LT(seconds_since(start), 1);
  }
  Client client(server->port());  // who sends it all the same gets the answer too
  client.send(request("POST /echo", std::string(300000, 'x')));
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(reply.header("Connection"), "close");
  EXPECT_EQ(Client(server->port()).ask(request("POST /echo", std::string(1000, 'x'))).status, 200);
}

TEST(HttpAbuse, EndlessBodiesAreCutOff) {
  const auto server = start_server({.most_body = 100000});
  const std::string head =
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string chunk = "400\r\n" + std::string(1024, 'x') + "\r\n";
  struct Endless {
    std::string start, more;
    int status;
  };
  const Endless endless[] = {
      {"", chunk, 413},
      {"ffffffffff\r\n", std::string(1024, 'x'), 413},  // one chunk
      {"", std::string(1024, '0'), 400},                // its size
      {"3;", std::string(1024, 'x'), 400},              // what follows the size
      {"0\r\n", "X: y\r\n", 413},                       // trailers
  };
  for (const auto& [start, more, status] : endless) {
    Client client(server->port());
    client.send(head + start);
    size_t sent = 0;
    while (sent < (size_t{64} << 20) && client.send(more) && !client.receive(0)) {
      sent += more.size();
    }
    EXPECT_LT(sent, size_t{64} << 20);
    EXPECT_EQ(client.reply().status, status) << start << more.substr(0, 8);
  }
  Client client(server->port());
  EXPECT_EQ(client.ask(head + chunk + "3;name=value\r\nabc\r\n00\r\nX: trailer\r\n\r\n").body,
            std::string(1024, 'x') + "abc");
  EXPECT_EQ(client.ask(request("GET /")).body, "{}");
}

std::string gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(HttpAbuse, CompressedBodiesCountAsWhatComesOut) {
  const auto server = start_server({.most_body = 100000});
  const auto ask = [&](const std::string& body) {
    return Client(server->port()).ask(request("POST /echo", body, "Content-Encoding: gzip\r\n"));
  };
  EXPECT_EQ(ask(gzip(std::string(90000, 'x'))).body, std::string(90000, 'x'));
  EXPECT_EQ(ask(gzip(std::string(20 << 20, 'x'))).status, 413);
  EXPECT_EQ(ask("not gzip at all").status, 400);
  for (const char* encoding : {"zstd", "gzip, gzip", "compress"}) {
    const std::string header = "Content-Encoding: " + std::string(encoding) + "\r\n";
    EXPECT_EQ(Client(server->port()).ask(request("POST /echo", "x", header)).status, 415);
  }
}

TEST(HttpAbuse, TargetsThatAreNoPaths) {
  Logged logged;
  const auto server = start_server({.log = std::ref(logged)});
  const auto status = [&](const std::string& target, const std::string& host = "localhost") {
    Client client(server->port());
    return client.ask("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n").status;
  };
  // What proxies send.
  EXPECT_EQ(status("http://localhost/"), 200);
  EXPECT_EQ(status("HTTP://127.0.0.1:80?q=1"), 200);
  EXPECT_EQ(status("http://localhost/", "evil.example"), 200);
  EXPECT_EQ(status("http://evil.example/", "localhost"), 403);
  server->stop();
  EXPECT_EQ(logged.text, "GET/;GET/;GET/;GET/;");
}

TEST(HttpAbuse, AQueryWithoutAPathIsNotLogged) {
  Logged logged;
  const auto server = start_server({.log = std::ref(logged)});
  for (const char* target : {"?secret", "secret", "#secret", "localhost:80"}) {
    EXPECT_EQ(Client(server->port()).ask(request("GET " + std::string(target))).status, 400)
        << target;
  }
  server->stop();
  EXPECT_EQ(logged.text, ";;;;");
}

TEST(HttpAbuse, CutAndMalformedBodies) {
  const auto server = start_server();
  const std::string head = "POST /echo HTTP/1.1\r\nHost: localhost\r\n";
  Client cut(server->port());
  cut.send(head + "Content-Length: 100\r\n\r\nonly this");
  ::shutdown(cut.socket(), SHUT_WR);
  EXPECT_EQ(cut.reply().status, 400);
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  for (const char* body :
       {"xyz\r\nabc\r\n0\r\n\r\n", "3\r\nabcdef\r\n0\r\n\r\n", "\r\n\r\n", "3\nabc\r\n0\r\n\r\n",
        "ffffffffffffffffffffff\r\nabc", "-3\r\nabc\r\n0\r\n\r\n", "0x3\r\nabc\r\n0\r\n\r\n",
        "3\r\nabc\n0\r\n\r\n", "3 3\r\nabc\r\n0\r\n\r\n"}) {
    Client client(server->port());
    EXPECT_EQ(client.ask(chunked + body).status, 400) << body;
    EXPECT_TRUE(client.sees_close());
  }
  for (const char* framing :
       {"Content-Length: abc", "Content-Length: -1", "Content-Length: +3", "Content-Length: 3 3",
        "Content-Length: ", "Content-Length: 3\r\nContent-Length: 4", "Content-Length: 0x3",
        "Content-Length: 3\r\nTransfer-Encoding: chunked", "Transfer-Encoding: gzip",
        "Transfer-Encoding: chunked, chunked", "Content-Length : 3", "Content Length: 3",
        "Content-Length: 3\r\n folded: 4", "X\x01: 3", "X: \x01", ": 3", "X"}) {
    Client client(server->port());
    EXPECT_EQ(client.ask(head + framing + "\r\n\r\nabc").status, 400) << framing;
    EXPECT_TRUE(client.sees_close()) << framing;
  }
  expect_well(*server);
}

TEST(HttpAbuse, RequestsMayFollowWithoutWaiting) {
  const auto server = start_server();
  Client client(server->port());
  const std::string chunked =
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\none\r\n4\r\n-two\r\n0\r\n\r\n";
  // Also those with a body where none is expected, and an empty line between requests.
  client.send(request("POST /echo", "first") + chunked + "\r\n" + request("GET /", "GET / HTTP") +
              request("POST /echo") + request("POST /echo", "last"));
  EXPECT_EQ(client.reply().body, "first");
  EXPECT_EQ(client.reply().body, "one-two");
  EXPECT_EQ(client.reply().body, "{}");
  EXPECT_EQ(client.reply().body, "");
  EXPECT_EQ(client.reply().body, "last");
  EXPECT_EQ(client.input(), "");
}

TEST(HttpAbuse, BodiesArriveWholeHoweverTheyAreCut) {
  const auto server = start_server();
  std::string body;
  for (int i = 0; body.size() < 500000; ++i) {
    body += std::to_string(i) + "\n";
  }
  Client client(server->port());
  const std::string text = request("POST /echo", body) + request("POST /echo", "next");
  for (size_t at = 0, size = 1; at < text.size(); at += size, size = size * 3 % 70001) {
    ASSERT_TRUE(client.send(std::string_view(text).substr(at, size)));
  }
  EXPECT_EQ(client.reply().body, body);
  EXPECT_EQ(client.reply().body, "next");
}

TEST(HttpAbuse, AClientMayWaitForContinue) {
  const auto server = start_server();
  Client client(server->port());
  client.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
      "Content-Length: 3\r\n\r\n");
  EXPECT_EQ(client.reply(false).status, 100);
  client.send("yes");
  EXPECT_EQ(client.reply().body, "yes");
}

TEST(HttpAbuse, AHundredBadRequests) {
  const auto server = start_server();
  const std::vector<std::string> bad = {
      "GET\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "GET  / HTTP/1.1\r\n\r\n",
      "FETCH / HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "get / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\n\n",
      "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  // a TLS greeting
      std::string("GET /\0 HTTP/1.1\r\n\r\n", 19),
      "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET / HTTP/1.1\r\nX: " + std::string(40000, 'a'),
      std::string(100000, 'A'),
      "GET / HTTP/1.1\r\n" + std::string(100, ':') + "\r\n\r\n",
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
      "HEAD / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello",
      "CONNECT example.com:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  };
  for (int i = 0; i < 100; ++i) {
    const std::string& text = bad[static_cast<size_t>(i) % bad.size()];
    Client client(server->port());
    client.send(text);
    const int status = client.reply(false).status;
    EXPECT_TRUE(status >= 400 && status < 500) << status << ": " << text.substr(0, 60);
  }
  Client range(server->port());  // not known here, so not looked at
  EXPECT_EQ(range.ask(request("GET /", "", "Range: bytes=" + std::string(7000, '1') + "\r\n")).body,
            "{}");
  expect_well(*server);
}

TEST(HttpAbuse, AnUpgradeIsNotMade) {
  const auto server = start_server();
  Client client(server->port());
  const Reply reply = client.ask(request("GET /", "",
                                         "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                                         "Sec-WebSocket-Version: 13\r\n"
                                         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("Upgrade"), "");
  EXPECT_EQ(client.ask(request("POST /echo", "on")).body, "on");  // still HTTP
}

TEST(HttpAbuse, OldClientsNeedNoHost) {
  const auto server = start_server();
  Client client(server->port());
  EXPECT_EQ(client.ask("GET / HTTP/1.0\r\n\r\n").body, "{}");
  EXPECT_TRUE(client.sees_close());
  // Nor do they know what 100 Continue is.
  Client old(server->port());
  EXPECT_EQ(
      old.ask("POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok").body,
      "ok");
}

TEST(HttpAbuse, AClientThatSendsNoMoreIsAnswered) {
  const auto server = start_server();
  Client client(server->port());
  client.send(request("POST /echo", "last") + request("GET /"));
  ::shutdown(client.socket(), SHUT_WR);
  EXPECT_EQ(client.reply().body, "last");
  EXPECT_EQ(client.reply().body, "{}");
  EXPECT_TRUE(client.sees_close());
  Client half(server->port());
  half.send("GET / HT");
  ::shutdown(half.socket(), SHUT_WR);
  EXPECT_TRUE(half.sees_close());
  EXPECT_EQ(half.input(), "");
}

TEST(HttpAbuse, SlowClientsDoNotHinderOthers) {
  const auto server = start_server({.header_seconds = 0.5});
  std::vector<std::unique_ptr<Client>> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(std::make_unique<Client>(server->port()));
    slow.back()->send("GET / HTTP/1.1\r\nX: ");
  }
  const auto start = Clock::now();
  for (int i = 0; i < 20; ++i) {
    expect_well(*server);
  }
  EXPECT_LT(seconds_since(start), 2);
  for (const auto& client : slow) {
    EXPECT_EQ(client->reply().status, 408);
  }
}

}  // namespace
}  // namespace heed::serve
