// The server's answers: routes, errors, keys, headers, streams, starting and stopping.
#include "serve/http/http.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/error.h"
#include "serve/http_client.h"
#include "support/error_of.h"

namespace heed::serve {
namespace {

using namespace std::chrono_literals;
using testing::Client;
using testing::comes_true;
using testing::Reply;
using testing::request;
using testing::seconds_since;
using Clock = std::chrono::steady_clock;

std::string text_of(const HttpRequest& request) {
  nlohmann::json json = {{"method", request.method}, {"path", request.path},
                         {"query", request.query},   {"parts", request.path_parts},
                         {"body", request.body},     {"headers", request.headers}};
  return json.dump();
}

std::unique_ptr<HttpServer> make_server(HttpOptions options = {}) {
  options.port = 0;
  auto server = std::make_unique<HttpServer>(options);
  const auto echo = [](const HttpRequest& r) { return HttpResponse{.body = text_of(r)}; };
  server->route(
      "GET", "/health", [](const HttpRequest&) { return HttpResponse{.body = "{}"}; },
      Access::open);
  server->route("POST", "/echo", echo);
  server->route("GET", "/echo", echo);
  server->route("GET", "/runs/{}/{}", echo);
  server->route("DELETE", "/runs/{}/{}", echo);
  return server;
}

Reply ask(const HttpServer& server, const std::string& text) {
  Client client(server.port());
  return client.ask(text);
}

nlohmann::json error_in(const Reply& reply) {
  return nlohmann::json::parse(reply.body).at("error");
}

TEST(Http, GivesHandlersTheWholeRequest) {
  const auto server = make_server();
  server->start();
  const Reply reply = ask(*server, request("POST /echo?a=1&b=x%20y+z&a=2", "{\"k\":\"\xc3\xa4\"}",
                                           "X-One: p%41  \r\nx-one: q\r\nContent-Type: a/b\r\n"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.header("Content-Type"), "application/json");
  const auto json = nlohmann::json::parse(reply.body);
  EXPECT_EQ(json["method"], "POST");
  EXPECT_EQ(json["path"], "/echo");
  EXPECT_EQ(json["query"], nlohmann::json({{"a", "1"}, {"b", "x y z"}}));
  EXPECT_EQ(json["body"], "{\"k\":\"\xc3\xa4\"}");
  EXPECT_EQ(json["headers"]["x-one"], "p%41, q");
  EXPECT_EQ(json["headers"]["host"], "localhost");
  const Reply parts = ask(*server, request("GET /runs/multi%2030k/7"));
  EXPECT_EQ(nlohmann::json::parse(parts.body)["parts"], nlohmann::json({"multi 30k", "7"}));
}

TEST(Http, UnknownPathsAndMethodsAreTold) {
  const auto server = make_server();
  server->start();
  for (const char* path : {"/nothing", "/", "/runs/a", "/runs//b", "/runs/a/b/", "/runs/a%2Fb/c",
                           "/../etc/passwd", "/echo%00", "/\xff\xfe", "*"}) {
    const Reply reply = ask(*server, request("GET " + std::string(path)));
    EXPECT_EQ(reply.status, 404) << path;
    EXPECT_EQ(error_in(reply)["code"], "not_found");
    EXPECT_EQ(error_in(reply)["type"], "invalid_request_error");
    EXPECT_EQ(error_in(reply)["status"], 404);
    EXPECT_TRUE(error_in(reply)["param"].is_null());
  }
  const Reply reply = ask(*server, request("PUT /runs/a/b", "{}"));
  EXPECT_EQ(reply.status, 405);
  EXPECT_EQ(reply.header("Allow"), "DELETE, GET, HEAD");
  EXPECT_EQ(error_in(reply)["message"], "method is PUT, expected DELETE, GET, HEAD");
  EXPECT_EQ(ask(*server, request("OPTIONS /echo")).status, 405);
}

TEST(Http, HeadIsGetWithoutBody) {
  const auto server = make_server();
  server->start();
  Client client(server->port());
  client.send(request("HEAD /health"));
  const Reply head = client.reply(false);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), "2");
  EXPECT_EQ(client.ask(request("GET /health")).body, "{}");  // nothing was left over
}

TEST(Http, WhatHandlersThrowBecomesAnError) {
  const auto server = make_server();
  server->route("GET", "/http", [](const HttpRequest&) -> HttpResponse {
    HttpError error(429, "the queue is full", "model", "queue_full");
    error.retry_after = 3;
    throw error;
  });
  server->route("GET", "/error", [](const HttpRequest&) -> HttpResponse {
    fail("[place] x is {}, expected 2", "\xff");
  });
  server->route("GET", "/other",
                [](const HttpRequest&) -> HttpResponse { throw std::logic_error("a secret"); });
  server->route("GET", "/number", [](const HttpRequest&) -> HttpResponse { throw 7; });
  server->start();
  ::testing::internal::CaptureStderr();
  Client client(server->port());
  const Reply full = client.ask(request("GET /http"));
  EXPECT_EQ(full.status, 429);
  EXPECT_EQ(full.header("Retry-After"), "3");
  EXPECT_EQ(error_in(full), nlohmann::json({{"message", "the queue is full"},
                                            {"type", "rate_limit_error"},
                                            {"param", "model"},
                                            {"code", "queue_full"},
                                            {"status", 429},
                                            {"request_id", full.header("X-Request-Id")}}));
  EXPECT_NE(full.header("X-Request-Id"), "");
  const Reply ours = client.ask(request("GET /error"));
  EXPECT_EQ(ours.status, 400);
  EXPECT_EQ(error_in(ours)["message"], "[place] x is \xef\xbf\xbd, expected 2");
  for (const char* path : {"GET /other", "GET /number"}) {
    const Reply reply = client.ask(request(path));
    EXPECT_EQ(reply.status, 500);
    EXPECT_EQ(error_in(reply)["type"], "server_error");
    EXPECT_EQ(reply.body.find("secret"), std::string::npos);
  }
  EXPECT_EQ(client.ask(request("GET /health")).status, 200);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("GET /other: a secret"),
            std::string::npos);
}

TEST(Http, KeysAreAskedFor) {
  const auto server = make_server({.keys = {"abc", "a-longer-key"}});
  server->start();
  const auto status = [&](const std::string& headers) {
    return ask(*server, request("GET /echo", "", headers)).status;
  };
  EXPECT_EQ(status(""), 401);
  for (const std::string key : {"", "ab", "abcd", "abd", "Abc", "abc,", "a-longer-ke", "%61bc"}) {
    EXPECT_EQ(status("Authorization: Bearer " + key + "\r\n"), 401) << key;
    EXPECT_EQ(status("x-api-key: " + key + "\r\n"), 401) << key;
  }
  EXPECT_EQ(status("Authorization: Bearer " + std::string(300, 'a') + "\r\n"), 401);
  EXPECT_EQ(status("Authorization: Basic abc\r\n"), 401);
  EXPECT_EQ(status("Authorization: Bearer abc\r\n"), 200);
  EXPECT_EQ(status("authorization: bearer a-longer-key\r\n"), 200);
  EXPECT_EQ(status("X-API-Key: abc\r\n"), 200);
  EXPECT_EQ(ask(*server, request("GET /health")).status, 200);  // open to all
  const Reply refused = ask(*server, request("POST /echo", "{}"));
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.header("WWW-Authenticate"), "Bearer");
  EXPECT_EQ(error_in(refused)["code"], "invalid_api_key");
  EXPECT_EQ(testing::error_of([] { HttpServer server({.keys = {""}}); }),
            "[http] an API key has 0 bytes, expected 1 to 256");
}

TEST(Http, OnLoopbackOnlyItsOwnNamesAreServed) {
  const auto server = make_server();
  server->start();
  const auto status = [&](const std::string& host) {
    return ask(*server, "GET /health HTTP/1.1\r\nHost: " + host + "\r\n\r\n").status;
  };
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:1", "[::1]:80"}) {
    EXPECT_EQ(status(host), 200) << host;
  }
  for (const char* host : {"evil.example", "evil.example:80", "localhost.evil.example", "",
                           "127.0.0.1.evil.example:80", "10.0.0.1"}) {
    EXPECT_EQ(status(host), 403) << host;
  }
  EXPECT_EQ(status("localhost\r\nHost: localhost"), 400);
  EXPECT_EQ(ask(*server, "GET /health HTTP/1.1\r\n\r\n").status, 400);
}

TEST(Http, PagesOfOtherOriginsMayNotPost) {
  const auto status = [](HttpServer& server, const std::string& origin) {
    return ask(server, request("POST /echo", "{}", "Origin: " + origin + "\r\n")).status;
  };
  const auto closed = make_server();
  closed->start();
  EXPECT_EQ(status(*closed, "http://localhost"), 200);
  EXPECT_EQ(status(*closed, "http://evil.example"), 403);
  EXPECT_EQ(status(*closed, "null"), 403);
  const auto open = make_server({.allow_origin = "https://studio.example"});
  open->start();
  EXPECT_EQ(status(*open, "https://studio.example"), 200);
  EXPECT_EQ(status(*open, "https://evil.example"), 403);
}

TEST(Http, OtherOriginsAreAllowedWhenAskedFor) {
  const auto server = make_server({.keys = {"abc"}, .allow_origin = "https://studio.example"});
  server->start();
  const Reply preflight = ask(*server, request("OPTIONS /echo", "",
                                               "Origin: https://studio.example\r\n"
                                               "Access-Control-Request-Method: POST\r\n"));
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.header("Access-Control-Allow-Origin"), "https://studio.example");
  EXPECT_EQ(preflight.header("Access-Control-Allow-Headers"), "Authorization, *");
  EXPECT_NE(preflight.header("Access-Control-Allow-Methods").find("POST"), std::string::npos);
  const Reply refused = ask(*server, request("GET /echo"));
  EXPECT_EQ(refused.status, 401);  // its page must be able to read why
  EXPECT_EQ(refused.header("Access-Control-Allow-Origin"), "https://studio.example");
  // A body that nobody asked for is not taken for the next request.
  Client client(server->port());
  EXPECT_EQ(client.ask(request("OPTIONS /echo", request("GET /health"))).status, 204);
  EXPECT_TRUE(client.sees_close());
  EXPECT_EQ(client.input(), "");
  const auto closed = make_server();
  closed->start();
  EXPECT_EQ(ask(*closed, request("GET /echo")).header("Access-Control-Allow-Origin"), "");
}

TEST(Http, AnOriginHasASchemeAndNoPath) {
  for (const char* origin : {"example.org", "https://", "https://example.org/", "://x",
                             "https://a b", "https://a, https://b"}) {
    EXPECT_EQ(testing::error_of([&] { HttpServer server({.allow_origin = origin}); }),
              "[http] allow_origin is " + std::string(origin) +
                  ", expected * or an origin such as https://example.org, without a path");
  }
  for (const char* origin : {"*", "http://localhost:5173", "https://[::1]:8443"}) {
    EXPECT_EQ(testing::error_of([&] { HttpServer server({.allow_origin = origin}); }), "no error");
  }
}

TEST(Http, SecurityHeadersAreOnEverything) {
  const auto server = make_server();
  server->route("GET", "/page", [](const HttpRequest&) {
    return HttpResponse{.type = "text/html; charset=utf-8",
                        .body = "<!doctype html>",
                        .headers = {{"cache-control", "max-age=60"}, {"X-Bad", "a\r\nX-Evil: 1"}}};
  });
  server->start();
  for (const char* line : {"GET /health", "GET /nothing", "GET /page", "BAD", "G\x01T / x"}) {
    const Reply reply = ask(*server, request(line));
    EXPECT_NE(reply.header("X-Request-Id"), "") << line;
    EXPECT_EQ(reply.header("X-Content-Type-Options"), "nosniff") << line;
    EXPECT_EQ(reply.header("Referrer-Policy"), "no-referrer") << line;
    EXPECT_EQ(reply.header("X-Frame-Options"), "DENY") << line;
  }
  EXPECT_EQ(ask(*server, request("GET /health")).header("Cache-Control"), "no-store");
  EXPECT_EQ(ask(*server, request("GET /health")).header("Content-Security-Policy"), "");
  const Reply page = ask(*server, request("GET /page"));
  EXPECT_EQ(page.header("cache-control"), "max-age=60");
  EXPECT_EQ(page.header("Cache-Control"), "");
  EXPECT_EQ(page.header("X-Evil"), "");
  EXPECT_TRUE(page.header("Content-Security-Policy").starts_with("default-src 'none'; script-src"));
}

TEST(Http, AStreamArrivesPieceByPiece) {
  std::atomic<int> allowed = 0;
  const auto server = make_server();
  server->route("GET", "/stream", [&](const HttpRequest& r) {
    return HttpResponse{.type = "text/event-stream", .stream = [&](const Writer& write) {
                          for (int i = 0; i < 3; ++i) {
                            while (allowed <= i && !r.gone()) {
                              std::this_thread::sleep_for(1ms);
                            }
                            EXPECT_TRUE(write("data: " + std::to_string(i) + "\n\n"));
                            EXPECT_TRUE(write(""));
                          }
                        }};
  });
  server->start();
  Client client(server->port());
  client.send(request("GET /stream", "", "Accept-Encoding: gzip, br\r\n"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.input().find("data: " + std::to_string(i)), std::string::npos);
    allowed = i + 1;
    EXPECT_TRUE(client.receive_until("data: " + std::to_string(i)));
  }
  const Reply reply = client.reply();
  EXPECT_EQ(reply.body, "data: 0\n\ndata: 1\n\ndata: 2\n\n");
  EXPECT_EQ(reply.header("Content-Type"), "text/event-stream");
  EXPECT_EQ(client.ask(request("GET /health")).status, 200);  // the connection goes on
  // HTTP/1.0 has no chunks: there the end of the connection is the end of the body.
  Client old(server->port());
  old.send("GET /stream HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(old.sees_close());
  EXPECT_TRUE(old.input().ends_with("\r\n\r\ndata: 0\n\ndata: 1\n\ndata: 2\n\n"));
}

TEST(Http, AStreamThatFailsHasNoEnd) {
  const auto server = make_server();
  server->route("GET", "/stream", [&](const HttpRequest&) {
    return HttpResponse{.stream = [](const Writer& write) {
      write("half");
      throw std::runtime_error("lost");
    }};
  });
  server->start();
  ::testing::internal::CaptureStderr();
  Client client(server->port());
  client.send(request("GET /stream"));
  EXPECT_TRUE(client.sees_close());
  EXPECT_NE(client.input().find("4\r\nhalf\r\n"), std::string::npos);
  EXPECT_EQ(client.input().find("\r\n0\r\n\r\n"), std::string::npos);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("GET /stream: lost"), std::string::npos);
}

TEST(Http, ClientsThatLeaveEndTheirStream) {
  std::atomic<int> ended = 0;
  const auto server = make_server();
  server->route("GET", "/stream", [&](const HttpRequest&) {
    return HttpResponse{.stream = [&](const Writer& write) {
      // httplib ignores the signal; here it would kill.
      std::signal(SIGPIPE, SIG_DFL);
      while (write("data: more\n\n")) {
        std::this_thread::sleep_for(1ms);
      }
      ++ended;
    }};
  });
  server->start();
  for (int i = 0; i < 30; ++i) {
    Client client(server->port());
    client.send(request("GET /stream"));
    EXPECT_TRUE(client.receive_until("more"));
    if (i % 2 == 0) {  // leaves with a reset
      const linger reset{.l_onoff = 1, .l_linger = 0};
      ::setsockopt(client.socket(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    }
  }
  EXPECT_TRUE(comes_true([&] { return ended == 30 && server->connections() == 0; }));
  EXPECT_EQ(ask(*server, request("GET /health")).status, 200);
}

TEST(Http, AWaitingHandlerSeesThatItsClientLeft) {
  std::atomic<bool> waits = false, left = false;
  const auto server = make_server();
  server->route("POST", "/wait", [&](const HttpRequest& r) {
    waits = !r.gone();
    left = comes_true(r.gone);
    return HttpResponse{};
  });
  server->start();
  Client client(server->port());
  // Bytes that nobody has read yet must not hide the end.
  client.send(request("POST /wait", "{}") + request("GET /health"));
  EXPECT_TRUE(comes_true([&] { return waits.load(); }));
  EXPECT_FALSE(left);
  client.close();
  EXPECT_TRUE(comes_true([&] { return left.load(); }));
}

TEST(Http, AStreamThatIsNotReadEnds) {
  std::atomic<bool> ended = false;
  const auto server = make_server({.write_seconds = 0.3});
  server->route("GET", "/stream", [&](const HttpRequest&) {
    return HttpResponse{.stream = [&](const Writer& write) {
      const std::string piece(1 << 20, 'x');
      while (write(piece)) {
      }
      ended = true;
    }};
  });
  server->start();
  Client client(server->port());
  client.send(request("GET /stream"));
  EXPECT_TRUE(comes_true([&] { return ended && server->connections() == 0; }, 3));
}

TEST(Http, SixtyFourConnectionsAtOnce) {
  std::atomic<int> inside = 0, met = 0;
  const auto server = make_server();
  server->route("POST", "/meet", [&](const HttpRequest& r) {
    ++inside;
    met += static_cast<int>(comes_true([&] { return inside == 64; }));
    return HttpResponse{.body = r.body};
  });
  server->start();
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([&, i] {
      Client client(server->port());
      const std::string body = "{\"client\":" + std::to_string(i) + "}";
      good += static_cast<int>(client.ask(request("POST /meet", body)).body == body);
      for (int turn = 0; turn < 20; ++turn) {
        const Reply reply = client.ask(request("POST /echo", body));
        good += static_cast<int>(nlohmann::json::parse(reply.body)["body"] == body);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(good, 64 * 21);
  EXPECT_EQ(met, 64);
  EXPECT_TRUE(comes_true([&] { return server->connections() == 0; }));
}

TEST(Http, ATakenPortIsAnError) {
  const auto first = make_server();
  first->start();
  HttpServer second({.port = first->port()});
  const std::string port = std::to_string(first->port());
  EXPECT_EQ(testing::error_of([&] { second.start(); }),
            "[http] cannot listen on 127.0.0.1:" + port + ": port " + port +
                " is already in use; choose another one with --port N (0 picks a free one), or "
                "stop the program that uses it");
  HttpServer third({.host = "no.such.host.invalid", .port = 80});
  EXPECT_TRUE(testing::error_of([&] {
                third.start();
              }).starts_with("[http] cannot listen on no.such.host.invalid:80: "));
  EXPECT_EQ(testing::error_of([] { HttpServer server({.port = 65536}); }),
            "[http] port is 65536, expected 0 to 65535");
  first->stop();
  second.start();  // free again
  EXPECT_EQ(std::to_string(second.port()), port);
}

TEST(Http, StopLetsHandlersFinishAndClosesTheRest) {
  std::atomic<bool> running = false, go = false;
  const auto server = make_server();
  server->route("GET", "/wait", [&](const HttpRequest& r) {
    running = true;
    comes_true([&] { return go.load(); });
    return HttpResponse{.body = r.gone() ? "gone" : "done"};
  });
  server->start();
  Client idle(server->port());
  EXPECT_EQ(idle.ask(request("GET /health")).status, 200);
  Client silent(server->port());
  Client half(server->port());
  half.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf");
  Client busy(server->port());
  busy.send(request("GET /wait"));
  EXPECT_TRUE(comes_true([&] { return running && server->connections() == 4; }));
  const auto start = Clock::now();
  std::thread stopper([&] { server->stop(); });
  EXPECT_TRUE(idle.sees_close());
  EXPECT_TRUE(silent.sees_close());
  EXPECT_TRUE(half.sees_close());
  EXPECT_LT(seconds_since(start), 1);
  go = true;
  const Reply reply = busy.reply();
  EXPECT_EQ(reply.body, "done");
  EXPECT_EQ(reply.header("Connection"), "close");
  stopper.join();
  EXPECT_LT(seconds_since(start), 2);
  server->stop();  // once more does nothing
}

TEST(Http, StopCutsWhoDoesNotFinish) {
  std::atomic<bool> ended = false;
  const auto server = make_server();
  server->route("GET", "/stream", [&](const HttpRequest&) {
    return HttpResponse{.stream = [&](const Writer& write) {
      while (write("more")) {
        std::this_thread::sleep_for(1ms);
      }
      ended = true;
    }};
  });
  server->start();
  Client client(server->port());
  client.send(request("GET /stream"));
  EXPECT_TRUE(client.receive_until("more"));
  const auto start = Clock::now();
  server->stop(0.2);
  EXPECT_TRUE(ended);
  EXPECT_GE(seconds_since(start), 0.2);
  EXPECT_LT(seconds_since(start), 2);
}

}  // namespace
}  // namespace heed::serve
