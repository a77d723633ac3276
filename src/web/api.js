// The server's HTTP interface: JSON in and out, streams of events, and errors with their reason.
import { byId } from "./dom.js";

const kBase = new URL("../", import.meta.url); // the studio may live under any path
const kKeyName = "heed-api-key";

export const apiKey = {
  get: () => sessionStorage.getItem(kKeyName) ?? "",
  set: (key) => (key ? sessionStorage.setItem(kKeyName, key) : sessionStorage.removeItem(kKeyName)),
};

// Sends "key-wanted" when the server refuses the key, or requires one.
export const apiEvents = new EventTarget();

export class ApiError extends Error {
  constructor(message, { status = 0, param = null, code = null, retryAfter = null } = {}) {
    super(message);
    Object.assign(this, { status, param, code, retryAfter });
  }
}

export const isAbort = (error) => error.name === "AbortError";

async function errorOf(response) {
  const text = await response.text();
  let said = {};
  try {
    said = JSON.parse(text).error ?? {};
  } catch {
    said = { message: text.slice(0, 200).trim() }; // a proxy's page, perhaps
  }
  return new ApiError(said.message || `${response.status} ${response.statusText}`, {
    status: response.status,
    param: said.param ?? null,
    code: said.code ?? null,
    retryAfter: Number(response.headers.get("retry-after")) || null,
  });
}

async function request(path, { body, signal, accept = "application/json" } = {}) {
  const headers = { accept };
  if (apiKey.get()) headers.authorization = `Bearer ${apiKey.get()}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(new URL(path, kBase), {
      method: body === undefined ? "GET" : "POST",
      headers,
      signal,
      cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError("The server does not answer. Is heed serve still running?");
  }
  if (response.ok) return response;
  const error = await errorOf(response);
  if (error.status === 401) {
    const reason = apiKey.get() ? "The server does not accept this key." : "The server requires an API key.";
    apiEvents.dispatchEvent(new CustomEvent("key-wanted", { detail: reason }));
  }
  throw error;
}

export const getJson = async (path, options) => (await request(path, options)).json();
export const getText = async (path, options) =>
  (await request(path, { ...options, accept: "text/plain" })).text();
export const postJson = async (path, body, options) => (await request(path, { ...options, body })).json();

// The data of the events in a stream of text pieces; an event ends with an empty line.
export async function* eventData(pieces) {
  let rest = "";
  for await (const piece of pieces) {
    const events = (rest + piece).replace(/\r\n/g, "\n").split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const lines = event.split("\n").filter((line) => line.startsWith("data:"));
      if (lines.length > 0) yield lines.map((line) => line.slice(5).replace(/^ /, "")).join("\n");
    }
  }
}

async function* textPieces(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {}); // already closed is fine
  }
}

// Yields the objects of an event stream until its end. Leaving the loop closes the connection.
export async function* postStream(path, body, options) {
  const response = await request(path, {
    ...options,
    body: { ...body, stream: true },
    accept: "text/event-stream",
  });
  for await (const data of eventData(textPieces(response))) {
    if (data === "[DONE]") return;
    const event = JSON.parse(data);
    if (event.error) throw new ApiError(event.error.message, event.error);
    yield event;
  }
}

// The dialog that asks for the key; `changed` is called when there is a new one.
export function followKeyDialog(changed) {
  const dialog = byId("key-dialog");
  const open = (reason) => {
    byId("key-reason").textContent = reason;
    byId("key-value").value = apiKey.get();
    if (!dialog.open) dialog.showModal();
  };
  byId("key").onclick = () => open("A server that was started with --api-key-file requires one.");
  byId("key-cancel").onclick = () => dialog.close();
  byId("key-form").onsubmit = (event) => {
    event.preventDefault();
    dialog.close();
    apiKey.set(byId("key-value").value.trim());
    changed();
  };
  apiEvents.addEventListener("key-wanted", (event) => open(event.detail));
}
