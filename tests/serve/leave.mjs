// Clients that leave in mid-stream: slots, queue and memory of the server must come back.
//   node tests/serve/leave.mjs BASE_URL [--clients 200] [--at-once 20] [--growth 5] [--slack 0] [--key KEY] [--seed 1]
// The resident memory may grow by --growth percent and --slack megabytes over what it is after the first --at-once.
import net from "node:net";
import { Checks, kMegabyte, Random, readArguments, Server, sleep } from "./client.mjs";

const options = readArguments(
  "tests/serve/leave.mjs BASE_URL [--clients 200] [--at-once 20] [--growth 5] [--slack 0] [--key KEY] [--seed 1]",
  {
    clients: { type: "string", default: "200" },
    "at-once": { type: "string", default: "20" },
    growth: { type: "string", default: "5" },
    slack: { type: "string", default: "0" },
  },
);
const server = new Server(options);
const random = new Random(options.seed);
const checks = new Checks("leave");

// Long work; most of it as streams.
function requestsOf(models) {
  const make = {
    complete: (model) => ["/v1/completions", { model, prompt: "the", max_tokens: 4096, temperature: 1.5 }],
    music: (model) => ["/v1/music/continue", { model, seconds: 600, max_tokens: 4096 }],
    accompany: (model) => ["/v1/music/accompany", { model, notes: [{ start: 0, end: 20, pitch: 72 }] }],
    image: (model, { enlarges }) => (enlarges ? null : ["/v1/image/sample", { model, count: 16 }]),
    embed: (model) => ["/v1/embeddings", { model, input: Array(200).fill("the cat saw a dog") }],
    translate: (model) => ["/translate", { model, q: Array(50).fill("abc") }],
  };
  const kStreams = ["complete", "music", "accompany", "image"];
  return models.flatMap(({ id, heed }) =>
    heed.abilities.flatMap((ability) => {
      const request = make[ability]?.(id, heed);
      return request ? [{ path: request[0], body: request[1], streams: kStreams.includes(ability) }] : [];
    }),
  );
}

// Sends a request and leaves: mostly when the answer has begun, or a moment later; politely or not. Gives the status
// that had come by then.
function visit({ path, body, streams }) {
  const stream = streams && random.next() < 0.9;
  const text = JSON.stringify(stream ? { ...body, stream } : body);
  const [isHasty, isRude] = [random.next() < 0.2, random.next() < 0.5];
  const patience = random.pick([0, 0, 0.01, 0.05, 0.2]);
  return new Promise((resolve) => {
    const socket = net.connect({
      host: options.base.hostname.replace(/^\[|\]$/g, ""),
      port: Number(options.base.port || 80),
    });
    let received = "";
    const leave = () => {
      clearTimeout(timer);
      if (isRude) socket.resetAndDestroy();
      else socket.destroy();
      resolve(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1] ?? "none");
    };
    const timer = setTimeout(leave, 20000);
    socket.on("error", () => leave());
    socket.on("end", () => leave());
    socket.on("data", (bytes) => {
      if (received === "" && !isHasty) setTimeout(leave, 1000 * patience);
      received += bytes.toString("latin1").slice(0, 100);
    });
    socket.on("connect", () => {
      const key = options.key ? `Authorization: Bearer ${options.key}\r\n` : "";
      const length = `Content-Length: ${Buffer.byteLength(text)}\r\n`;
      socket.write(`POST ${path} HTTP/1.1\r\nHost: ${options.base.host}\r\n${key}${length}\r\n${text}`);
      if (isHasty) setTimeout(leave, 1000 * patience);
    });
  });
}

const requests = requestsOf(await server.models());
if (requests.length === 0) {
  console.log("leave: no model here has long work");
  process.exit(0);
}
const [clients, atOnce] = [Number(options.clients), Number(options["at-once"])];
const seen = {};
let first = null;
await checks.run("leaving", async () => {
  const before = await server.idle();
  for (let done = 0; done < clients; done += atOnce) {
    const statuses = await Promise.all(
      Array.from({ length: Math.min(atOnce, clients - done) }, (_, i) =>
        visit(requests[(done + i) % requests.length]),
      ),
    );
    for (const status of statuses) seen[status] = (seen[status] ?? 0) + 1;
    const metrics = await server.idle(60);
    first ??= metrics;
  }
  await sleep(0.5);
  const last = await server.idle();
  checks.equal([last.heed_slots_busy, last.heed_queued], [0, 0], "busy slots and queued jobs at the end");
  const { 200: begun = 0, 429: refused = 0 } = seen;
  checks.ok(
    Object.keys(seen).every((status) => ["200", "429", "none"].includes(status)),
    `statuses ${JSON.stringify(seen)}`,
  );
  checks.ok(begun > 0 && refused <= clients / 2, `${begun} streams begun, ${refused} refused of ${clients}`);
  const memory = [first, last].map((metrics) => metrics.process_resident_memory_bytes);
  const most = memory[0] * (1 + Number(options.growth) / 100) + Number(options.slack) * kMegabyte;
  checks.ok(
    memory[1] <= most,
    `memory grew from ${memory[0]} to ${memory[1]} bytes (${((memory[1] / memory[0] - 1) * 100).toFixed(1)} %)`,
  );
  const cancelled = Object.entries(last)
    .filter(([name]) => name.startsWith("heed_jobs_total{") && name.includes('outcome="cancelled"'))
    .reduce((sum, [name, value]) => sum + value - (before[name] ?? 0), 0);
  console.log(
    `${clients} clients: ${JSON.stringify(seen)}, ${cancelled} jobs cancelled, ` +
      `memory ${memory.map((bytes) => (bytes / kMegabyte).toFixed(1)).join(" to ")} MiB`,
  );
});
await checks.run("a good request at the end", () => server.json("/v1/models"));
checks.end();
