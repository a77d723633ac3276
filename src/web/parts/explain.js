// Errors in the page's own words: without status codes, places in the program or names of the API's
// fields. What the page has no words for keeps the server's reason.

const kByStatus = {
  401: "The server requires an API key.",
  403: "The server refuses requests from the address of this page.",
  413: "This is more than the server accepts at once.",
  503: "The server is shutting down.",
};
const kByCode = {
  model_not_found: "The server does not have this model any more. Reload the page to see which ones it has.",
  run_not_found:
    "The server does not follow this run any more. Reload the page to see which ones it follows.",
};

// "[place] some reason" as a sentence.
function sentence(message) {
  const text = message.replace(/^(\[[^\]]*\]\s*)+/, "").trim();
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

function tooLong(message) {
  const said = /has (\d+) tokens, expected (?:at most|1 to) (\d+)/.exec(message);
  return said && `This text has ${said[1]} tokens; the model takes ${said[2]} at most. Shorten it.`;
}

// labelOf(field of the API) is what the page calls it, or nothing.
export function explain(error, labelOf = () => null) {
  const { status = 0, code = null, param = null, retryAfter = null, message } = error;
  if (status === 429) {
    const when = retryAfter ? `in ${retryAfter} ${retryAfter === 1 ? "second" : "seconds"}` : "in a moment";
    return `The server is busy. Try again ${when}.`;
  }
  const known = kByStatus[status] ?? kByCode[code];
  if (known) return known;
  if (status >= 500) return "Something went wrong on the server. Its log says what.";
  const long = tooLong(message);
  if (long) return long;
  const label = labelOf(param);
  const wrong = /^\S+ is (.*), expected (.*)$/s.exec(message);
  if (label && wrong)
    return `${label} must be ${wrong[2]}${wrong[1] === "empty" ? "" : `, not ${wrong[1]}`}.`;
  if (label && code === "missing_field") return `${label} is missing.`;
  return sentence(message);
}
