// Connections that say nothing, or half of a request, hinder nobody: the server still answers others, and quickly.
//   node tests/serve/idle.mjs BASE_URL [--connections 256,1000] [--key KEY] [--seed 1]
import net from "node:net";
import { Checks, readArguments, Server } from "./client.mjs";

const options = readArguments("tests/serve/idle.mjs BASE_URL [--connections 256,1000] [--key KEY] [--seed 1]", {
  connections: { type: "string", default: "256,1000" },
});
const server = new Server(options);
const checks = new Checks("idle");
const kHalves = ["", "GET /health HTTP/1.1\r\nHost: local", "POST /v1/completions HT"];

function open(bytes) {
  return new Promise((resolve, reject) => {
    const socket = net.connect({
      host: options.base.hostname.replace(/^\[|\]$/g, ""),
      port: Number(options.base.port || 80),
    });
    socket.on("error", reject);
    socket.on("connect", () => {
      if (bytes) socket.write(bytes);
      resolve(socket);
    });
  });
}

async function within(seconds, what, action) {
  const start = performance.now();
  await action();
  const took = (performance.now() - start) / 1000;
  checks.ok(took < seconds, `${what} took ${took.toFixed(2)} s, expected less than ${seconds}`);
}

const { id: model } = (await server.models()).find(({ heed }) => heed.abilities.includes("complete"));
for (const count of options.connections.split(",").map(Number)) {
  const sockets = [];
  await checks.run(`${count} idle connections`, async () => {
    for (let i = 0; i < count; ++i) sockets.push(await open(kHalves[i % kHalves.length]));
    await within(1, `/health beside ${count}`, () => server.json("/health"));
    await within(1, `/metrics beside ${count}`, async () => {
      const { heed_connections: found } = await server.metrics();
      checks.ok(found >= Math.min(count, 800), `${found} connections are counted, expected about ${count}`);
    });
    await within(5, `a completion beside ${count}`, async () => {
      const { choices } = await server.json("/v1/completions", { model, prompt: "the", max_tokens: 8 });
      checks.equal(choices.length, 1, "choices");
    });
  });
  for (const socket of sockets) socket.destroy();
}
checks.end();
