// Malformed requests, from a seeded generator, against a running server: each must end with a 4xx or a closed
// connection in time, and good requests must work as before.
//   node tests/serve/malformed.mjs BASE_URL [--count 1200] [--seed 1] [--key KEY] [--seconds 30] [--no-slow]
import net from "node:net";
import { Checks, goodRequests, Random, readArguments, Server, sleep } from "./client.mjs";
import { CaseMaker } from "./malformed_cases.mjs";

const kAtOnce = 8;
const kBetween = 50; // malformed requests from one good request to the next
const kMostRepeats = 1024;

const options = readArguments(
  "tests/serve/malformed.mjs BASE_URL [--count 1200] [--seed 1] [--key KEY] [--seconds 30] [--no-slow]",
  {
    count: { type: "string", default: "1200" },
    seconds: { type: "string", default: "30" }, // that an answer may take
    "no-slow": { type: "boolean", default: false },
  },
);
const server = new Server(options);
const checks = new Checks("malformed");
const host = options.base.hostname.replace(/^\[|\]$/g, "");
const port = Number(options.base.port || 80);

// Sends what it can until the server answers or closes.
async function sendSteps(socket, steps, over) {
  const write = (bytes) => new Promise((done) => socket.write(bytes, () => done()));
  for (const step of steps) {
    if (over()) return;
    if (Buffer.isBuffer(step)) await write(step);
    if (step.end) socket.end();
    for (let left = step.wait ?? 0; left > 0 && !over(); left -= 0.25) await sleep(Math.min(left, 0.25));
    for (let i = 0; step.repeat && i < kMostRepeats && !over(); ++i) await write(step.repeat);
  }
}

// "400", "closed", or what is wrong.
function outcomeOf({ steps, seconds = Number(options.seconds) }) {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port, allowHalfOpen: true });
    let received = "";
    let isOver = false;
    const finish = (outcome) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      socket.destroy();
      resolve(outcome);
    };
    const timer = setTimeout(() => finish(`no answer in ${seconds} s`), 1000 * seconds);
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
      const status = /^HTTP\/1\.[01] (\d{3})/.exec(received);
      if (status && received.includes("\r\n")) finish(status[1]);
      else if (received.length > 12 && !status) finish(`no HTTP: ${received.slice(0, 40)}`);
    });
    socket.on("end", () => finish(received === "" ? "closed" : `half an answer: ${received.slice(0, 40)}`));
    socket.on("error", (error) =>
      finish(["ECONNRESET", "EPIPE"].includes(error.code) ? "closed" : error.message),
    );
    socket.on("connect", () => sendSteps(socket, steps, () => isOver));
  });
}

const counts = {};
async function judge(one) {
  const begin = performance.now();
  const outcome = await outcomeOf(one);
  counts[outcome] = (counts[outcome] ?? 0) + 1;
  checks.ok(
    outcome === "closed" || /^4\d\d$/.test(outcome),
    `${one.name}: ${outcome} after ${((performance.now() - begin) / 1000).toFixed(1)} s`,
  );
}

async function inTurns(cases) {
  const waiting = [...cases];
  const work = async () => {
    for (let one = waiting.shift(); one; one = waiting.shift()) await judge(one);
  };
  await Promise.all(Array.from({ length: kAtOnce }, work));
}

const good = goodRequests(await server.models());
const answers = new Map();
async function askGood(number, sent) {
  const { name, path, body } = good[number % good.length] ?? { name: "/v1/models", path: "/v1/models" };
  await checks.run(`the good request ${name} after ${sent} malformed ones`, async () => {
    const { id, created, ...answer } = await server.patient(path, body, {
      signal: AbortSignal.timeout(60_000),
    });
    const text = JSON.stringify(answer);
    if (!answers.has(name)) answers.set(name, text);
    checks.equal(text, answers.get(name), `answer of ${name} after ${sent} malformed requests`);
  });
}

const askAll = async (sent) => {
  for (let i = 0; i < good.length; ++i) await askGood(i, sent);
};
await askAll(0); // what they are while all is well
const maker = new CaseMaker(new Random(options.seed), {
  host: options.base.host,
  key: options.key,
  isLocal: ["127.0.0.1", "localhost", "::1"].includes(host),
});
await inTurns(maker.always());
const slow = options["no-slow"] ? [] : maker.slow().map(judge);
const count = Number(options.count);
for (let done = 0; done < count && checks.failures.length < 50; done += kBetween) {
  await inTurns(Array.from({ length: Math.min(kBetween, count - done) }, () => maker.next()));
  await askGood(done / kBetween, done + kBetween);
}
await Promise.all(slow);
await checks.run("at the end", async () => {
  await askAll(count);
  await server.idle();
});
console.log(
  Object.entries(counts)
    .map(([outcome, times]) => `${outcome}: ${times}`)
    .sort()
    .join(", "),
);
checks.end();
