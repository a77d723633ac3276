// A piano roll on a canvas: time to the right, pitch upwards. The canvas is as wide as what is seen; the
// scroller's width is the music's, so that an hour of it needs no larger picture.
//
// Shows only; roll_editor.js lets people write on it.
import { clamp, element, followWidth, sharpContext } from "../dom.js";
import { isBlack, pitchName } from "../music/pitch.js";
import { colour, onTheme } from "../theme.js";

const kKeys = 38,
  kBottom = 22,
  kTop = 4; // pixels: the keys on the left, the seconds below
const kLowest = 48,
  kHighest = 84; // shown at least
const kRoomAfter = 4; // empty seconds behind the last note
const kFaintest = 0.04; // of the strongest link; weaker ones would only be clutter

export class PianoRoll {
  constructor({ label, hint }) {
    this.canvas = element("canvas", {
      tabIndex: 0,
      role: "application",
      "aria-label": label,
      "aria-describedby": hint,
    });
    this.space = element("div", { class: "roll-space" }, this.canvas);
    this.element = element("div", { class: "roll", onscroll: () => this.draw() }, this.space);
    this.earlier = this.#edge("earlier", "‹ Earlier", -1);
    this.later = this.#edge("later", "Later ›", 1);
    this.frame = element("div", { class: "roll-frame" }, this.element, this.earlier, this.later);
    Object.assign(this, {
      notes: [],
      motifEnd: Infinity,
      links: null,
      cursor: null,
      playhead: null,
      step: 0.25,
      key: 10,
      second: 80,
      width: 0,
    });
    followWidth(this.element, (width) => {
      this.width = width;
      this.layout();
    });
    onTheme(() => this.draw());
  }

  // Notes that start at motifEnd or later are new.
  show({ notes, motifEnd = Infinity, links = null }) {
    Object.assign(this, { notes, motifEnd, links });
    this.layout();
  }

  layout() {
    const pitches = this.notes.map((note) => note.pitch);
    if (this.cursor) pitches.push(this.cursor.pitch);
    this.low = Math.max(0, Math.min(kLowest, ...pitches) - 1);
    this.high = Math.min(127, Math.max(kHighest, ...pitches) + 1);
    this.seconds = Math.max(4, ...this.notes.map((note) => note.end), this.cursor?.time ?? 0) + kRoomAfter;
    this.key = clamp(Math.floor(400 / (this.high - this.low + 1)), 6, 11);
    this.height = kTop + (this.high - this.low + 1) * this.key + kBottom;
    this.space.style.width = `${Math.max(this.width, kKeys + this.seconds * this.second)}px`;
    this.space.style.height = `${this.height}px`;
    this.draw();
  }

  x(seconds) {
    return kKeys + seconds * this.second - this.element.scrollLeft;
  }
  y(pitch) {
    return kTop + (this.high - pitch) * this.key;
  }

  // What is under a pointer: a time, a pitch, and the number of the note there or -1.
  placeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left,
      y = event.clientY - box.top;
    const time = (x - kKeys + this.element.scrollLeft) / this.second;
    const pitch = clamp(this.high - Math.floor((y - kTop) / this.key), this.low, this.high);
    const note = this.notes.findLastIndex(
      (one) => one.pitch === pitch && time >= one.start && time <= one.end,
    );
    const isEdge = note >= 0 && (this.notes[note].end - time) * this.second < 7;
    return { time: Math.max(0, time), pitch, note, isEdge, isOnKeys: x < kKeys };
  }

  reveal(time) {
    const x = this.x(time),
      kMargin = 60;
    if (x < kKeys + kMargin || x > this.width - kMargin) {
      this.element.scrollLeft = Math.max(0, time * this.second - (this.width - kKeys) * 0.6);
    }
  }

  // A button over the side where there is more to see than fits.
  #edge(side, text, direction) {
    return element(
      "button",
      {
        type: "button",
        class: `roll-edge ${side}`,
        hidden: true,
        onclick: () =>
          this.element.scrollBy({ left: direction * (this.width - kKeys) * 0.8, behavior: "smooth" }),
      },
      text,
    );
  }

  #showEdges() {
    const last = Math.max(0, ...this.notes.map((note) => note.end));
    this.earlier.hidden = this.element.scrollLeft < this.second / 4;
    this.later.hidden = this.x(last) <= this.width;
  }

  // The music moves under the line that plays it, or page by page for those who want no motion.
  follow(seconds) {
    this.playhead = seconds;
    const x = this.x(seconds);
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const room = (this.width - kKeys) * (isCalm ? 0.95 : 0.4);
    if (x < kKeys || x > kKeys + room) this.element.scrollLeft = seconds * this.second - (isCalm ? 0 : room);
    this.draw();
  }

  draw() {
    if (!this.width) return;
    this.#showEdges();
    const context = sharpContext(this.canvas, this.width, this.height);
    context.font = `11px ${getComputedStyle(this.element).fontFamily}`;
    this.#drawGrid(context);
    context.save();
    context.beginPath();
    context.rect(kKeys, 0, this.width - kKeys, this.height);
    context.clip();
    this.#drawNotes(context);
    this.#drawLinks(context);
    this.#drawCursor(context);
    context.restore();
    this.#drawKeys(context);
  }

  #drawGrid(context) {
    const bottom = this.height - kBottom;
    context.fillStyle = colour("--lane");
    for (let pitch = this.low; pitch <= this.high; ++pitch) {
      if (isBlack(pitch)) context.fillRect(kKeys, this.y(pitch), this.width, this.key);
    }
    const from = this.element.scrollLeft / this.second,
      to = from + this.width / this.second;
    for (let i = Math.floor(from / this.step); i * this.step <= to; ++i) {
      const seconds = i * this.step,
        x = Math.round(this.x(seconds)) + 0.5;
      const isWhole = Math.abs(seconds - Math.round(seconds)) < 1e-6;
      if (x < kKeys) continue;
      context.strokeStyle = colour("--line");
      context.globalAlpha = isWhole ? 1 : 0.45;
      context.beginPath();
      context.moveTo(x, kTop);
      context.lineTo(x, bottom);
      context.stroke();
      context.globalAlpha = 1;
      if (!isWhole) continue;
      context.fillStyle = colour("--quiet");
      context.textAlign = x < kKeys + 12 ? "left" : "center";
      context.fillText(`${Math.round(seconds)} s`, x, bottom + 15);
    }
  }

  #drawKeys(context) {
    context.fillStyle = colour("--surface");
    context.fillRect(0, 0, kKeys, this.height);
    for (let pitch = this.low; pitch <= this.high; ++pitch) {
      context.fillStyle = colour(isBlack(pitch) ? "--key-black" : "--key-white");
      context.fillRect(8, this.y(pitch), isBlack(pitch) ? 19 : 29, this.key - 1);
      if (pitch % 12 !== 0) continue;
      context.fillStyle = colour("--key-name");
      context.textAlign = "right";
      context.fillText(pitchName(pitch), 35, this.y(pitch) + this.key - 1.5);
    }
  }

  isNew(note) {
    return note.start >= this.motifEnd - 1e-6;
  }

  #drawNotes(context) {
    const most = this.links ? Math.max(...this.links.weights.subarray(0, this.notes.length), 1e-9) : 1;
    const fresh = colour("--new"),
      old = colour("--motif"),
      link = colour("--link");
    this.notes.forEach((note, i) => {
      const left = this.x(note.start),
        width = Math.max(3, (note.end - note.start) * this.second - 1);
      if (left > this.width || left + width < kKeys) return;
      const isChosen = this.links?.chosen === i;
      const strength = this.links ? Math.min(1, this.links.weights[i] / most) : 0;
      const isLinked = !isChosen && strength >= kFaintest;
      context.fillStyle = isLinked ? link : this.isNew(note) ? fresh : old;
      context.globalAlpha = isChosen
        ? 1
        : isLinked
          ? 0.35 + 0.65 * strength
          : this.links
            ? 0.28
            : 0.5 + 0.5 * (note.velocity / 127);
      context.beginPath();
      context.roundRect(left, this.y(note.pitch), width, this.key - 1, 2.5);
      context.fill();
      context.globalAlpha = 1;
      if (!isChosen && this.selected !== i) return;
      context.strokeStyle = colour("--ink");
      context.lineWidth = 2;
      context.stroke();
    });
    if (Number.isFinite(this.motifEnd)) this.#drawUpright(context, this.motifEnd, "--quiet", [5, 4]);
    if (this.playhead !== null) this.#drawUpright(context, this.playhead, "--ring", []);
  }

  #drawUpright(context, seconds, name, dashes) {
    const x = this.x(seconds);
    context.strokeStyle = colour(name);
    context.lineWidth = 1.5;
    context.setLineDash(dashes);
    context.beginPath();
    context.moveTo(x, kTop);
    context.lineTo(x, this.height - kBottom);
    context.stroke();
    context.setLineDash([]);
  }

  // Curves from the chosen note back to those it looked at.
  #drawLinks(context) {
    if (!this.links) return;
    const { chosen, weights } = this.links;
    const most = Math.max(...weights.subarray(0, this.notes.length), 1e-9);
    const middle = (note) => [this.x(note.start) + 3, this.y(note.pitch) + this.key / 2];
    const [x1, y1] = middle(this.notes[chosen]);
    context.strokeStyle = colour("--link");
    context.lineCap = "round";
    this.notes.forEach((note, i) => {
      const strength = Math.min(1, weights[i] / most);
      if (i === chosen || strength < kFaintest) return;
      const [x2, y2] = middle(note);
      const lift = 14 + Math.min(90, Math.abs(x1 - x2) / 6);
      context.globalAlpha = 0.15 + 0.8 * strength;
      context.lineWidth = 0.8 + 3 * strength;
      context.beginPath();
      context.moveTo(x1, y1);
      context.bezierCurveTo(x1 - (x1 - x2) * 0.25, y1 - lift, x2 + (x1 - x2) * 0.25, y2 - lift, x2, y2);
      context.stroke();
    });
    context.globalAlpha = 1;
  }

  #drawCursor(context) {
    if (!this.cursor || document.activeElement !== this.canvas) return;
    context.strokeStyle = colour("--ring");
    context.lineWidth = 2;
    context.strokeRect(
      this.x(this.cursor.time),
      this.y(this.cursor.pitch) - 0.5,
      this.step * this.second,
      this.key,
    );
  }
}
