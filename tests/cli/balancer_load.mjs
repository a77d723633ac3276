// A steady load on servers behind a balancer, to see whether any request is lost while servers come and go.
//
// usage: node tests/cli/balancer_load.mjs BASE_URL [--connections 12] [--seconds 30] [--most 20000] [--until FILE]
//
// Each connection asks for one completion after the other, every other one as a stream, until FILE exists, and not for
// longer than --seconds nor for more than --most requests. The same prompt has to get the same text from every server.
// A request that fails is sent again up to three times. Prints one JSON object: the number of requests and streams, and
// the requests that failed, each with when it began (ms since 1970), whether its answer had begun, and whether sending it
// again helped.
import { existsSync } from "node:fs";
import http from "node:http";
import { Random, readArguments, sleep } from "../serve/client.mjs";

const texts = readArguments(
  "tests/cli/balancer_load.mjs BASE_URL [--connections 12] [--seconds 30] [--most 20000] [--until FILE]",
  {
    connections: { type: "string", default: "12" },
    seconds: { type: "string", default: "30" },
    most: { type: "string", default: "20000" },
    until: { type: "string" },
  },
);
const connections = Number(texts.connections);
const most = Number(texts.most);
const deadline = Date.now() + 1000 * Number(texts.seconds);
const agent = new http.Agent({ keepAlive: true, maxSockets: connections });

const kPrompts = ["the cat", "a bird saw", "the dog", "a"];
const kRetries = 3;
const kRetrySeconds = 0.2;
const kSlowestSeconds = 20;

// Streams are long, so that there are always some that have begun.
const bodyOf = (prompt, stream) => ({
  prompt,
  max_tokens: stream ? 2000 : 20,
  temperature: 0,
  ...(stream && { stream: true }),
});

// The answer as it came; an error has `begun`: whether a good one had begun.
function ask(body) {
  const text = JSON.stringify(body);
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  let came = "";
  let begun = false;
  return new Promise((resolve, reject) => {
    const fail = (reason) => reject(Object.assign(new Error(reason), { begun }));
    const request = http.request(
      new URL("/v1/completions", texts.base),
      { method: "POST", agent, headers, timeout: 1000 * kSlowestSeconds },
      (response) => {
        begun = response.statusCode === 200;
        response.setEncoding("utf8");
        response.on("data", (piece) => (came += piece));
        response.on("error", (error) => fail(error.message));
        response.on("end", () =>
          response.statusCode === 200 ? resolve(came) : fail(`${response.statusCode} ${came.slice(0, 200)}`),
        );
      },
    );
    request.on("timeout", () => request.destroy(new Error(`nothing came for ${kSlowestSeconds} s`)));
    request.on("error", (error) => fail(error.message));
    request.end(text);
  });
}

// What the model said. An error if the answer is incomplete.
function saidIn(answer, stream) {
  if (!stream) return JSON.parse(answer).choices[0].text;
  const events = answer.split("\n\n").map((event) => event.replace(/^data: /, ""));
  const end = events.indexOf("[DONE]");
  if (end < 0) throw Object.assign(new Error(`the stream ends with ${answer.slice(-100)}`), { begun: true });
  return events
    .slice(0, end)
    .map((event) => JSON.parse(event).choices[0]?.text ?? "")
    .join("");
}

const result = { requests: 0, streams: 0, failed: [] };
const known = new Map(); // body -> text

async function askOnce(body) {
  const key = JSON.stringify(body);
  const said = saidIn(await ask(body), body.stream);
  if (!known.has(key)) known.set(key, said);
  if (known.get(key) !== said) throw new Error(`${key} got another text than before: ${said}`);
}

async function askAgain(body) {
  for (let i = 0; i < kRetries; ++i) {
    await sleep(kRetrySeconds);
    try {
      await askOnce(body);
      return true;
    } catch {
      // once more
    }
  }
  return false;
}

async function connection(number) {
  const random = new Random(number);
  const ends = () => Date.now() > deadline || result.requests >= most || (texts.until && existsSync(texts.until));
  for (let i = number; !ends(); ++i) {
    const stream = i % 2 === 0;
    const body = bodyOf(random.pick(kPrompts), stream);
    ++result.requests;
    if (stream) ++result.streams;
    const begin = Date.now();
    try {
      await askOnce(body);
    } catch (error) {
      const failure = { begin, end: Date.now(), stream, begun: error.begun === true, reason: error.message };
      result.failed.push({ ...failure, recovered: await askAgain(body) });
    }
  }
}

await Promise.all(Array.from({ length: connections }, (_, i) => connection(i)));
agent.destroy();
console.log(JSON.stringify(result));
