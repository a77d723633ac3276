// How a translation came about, pass by pass, made ready for pictures.

// Of the passes that the server tells, each a list of pieces with null for one that is still open: the same
// with the state of every piece. "new": there was none in the pass before; "changed": there was another one.
export function passesOf(trace) {
  return trace.map((pieces, pass) => {
    const before = trace[pass - 1] ?? [];
    const tokens = pieces.map((piece, i) => ({
      text: piece,
      state:
        piece === null ? "open" : before[i] == null ? "new" : before[i] === piece ? "kept" : "changed",
    }));
    const count = (state) => tokens.filter((token) => token.state === state).length;
    return { tokens, fresh: count("new"), changed: count("changed"), open: count("open") };
  });
}

const many = (count, word) => `${count} ${word}`;

// "3 new, 1 changed, 2 still open"; a pass that changes nothing says so.
export function summaryOf({ fresh, changed, open }) {
  const parts = [
    fresh > 0 && many(fresh, "new"),
    changed > 0 && many(changed, "changed"),
    open > 0 && many(open, "still open"),
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(", ") : "nothing changed";
}
