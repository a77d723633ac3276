// Writing on a piano roll. Mouse: drag on an empty place to draw a note, a note to move it, its right end
// to lengthen it; double click removes. Touch: tap to add or remove. Keyboard: arrows move a cursor, Enter
// adds or removes, letters play and write like a piano's keys.
import { announce, clamp } from "../dom.js";
import { pitchSpoken } from "../music/pitch.js";

const kLetters = "awsedftgyhujkolp"; // C, C sharp, D, ... on a keyboard's middle rows
const kVelocity = 80,
  kMostUndo = 100;

export class RollEditor {
  // changed(notes): the motif is another. chosen(i): somebody points at a new note. touched(pitch): to sound it.
  constructor({ roll, changed, chosen, touched }) {
    Object.assign(this, { roll, changed, chosen, touched, drag: null, past: [] });
    roll.cursor = { time: 0, pitch: 60 };
    const { canvas } = roll;
    canvas.onpointerdown = (event) => this.#down(event);
    canvas.onpointermove = (event) => this.#move(event);
    canvas.onpointerup = () => this.#up();
    canvas.onpointercancel = () => {
      this.drag = null;
    };
    canvas.onclick = (event) => {
      if (event.pointerType === "touch") this.#tap(event);
    };
    canvas.ondblclick = (event) => this.#remove(roll.placeAt(event).note);
    canvas.onkeydown = (event) => this.#key(event);
    canvas.onfocus = canvas.onblur = () => roll.draw();
  }

  get motif() {
    return this.roll.notes.filter((note) => !this.roll.isNew(note));
  }

  undo() {
    if (this.past.length > 0) this.changed(this.past.pop());
  }

  #remember() {
    this.past.push(this.motif.map((note) => ({ ...note })));
    if (this.past.length > kMostUndo) this.past.shift();
  }

  // Every change of the motif ends what was made from it.
  #change(notes) {
    this.#remember();
    this.changed(notes.sort((a, b) => a.start - b.start || a.pitch - b.pitch));
  }

  #snap(time) {
    return Math.max(0, Math.floor(time / this.roll.step + 1e-6) * this.roll.step);
  }

  #put(time, pitch, length = this.roll.step) {
    this.#change([
      ...this.motif,
      { start: time, end: time + length, pitch, velocity: kVelocity, channel: 0 },
    ]);
    this.touched(pitch);
  }

  #remove(i) {
    const note = this.roll.notes[i];
    if (note && !this.roll.isNew(note)) this.#change(this.motif.filter((one) => one !== note));
  }

  // --- Mouse and touch

  #down(event) {
    if (event.pointerType === "touch" || event.button !== 0) return;
    const place = this.roll.placeAt(event);
    if (place.isOnKeys) {
      this.touched(place.pitch);
      return;
    }
    const note = this.roll.notes[place.note];
    if (note && this.roll.isNew(note)) {
      this.chosen(place.note);
      return;
    }
    this.roll.canvas.setPointerCapture(event.pointerId);
    if (note) {
      this.drag = { note, place, before: { ...note }, kind: place.isEdge ? "end" : "move", isMoved: false };
      this.touched(note.pitch);
    } else {
      const time = this.#snap(place.time);
      this.#put(time, place.pitch);
      const put = this.roll.notes.find((one) => one.start === time && one.pitch === place.pitch);
      this.drag = { note: put, place, before: { ...put }, kind: "end", isMoved: true };
    }
    this.roll.cursor = { time: this.#snap(place.time), pitch: place.pitch };
  }

  #move(event) {
    const place = this.roll.placeAt(event);
    if (!this.drag) {
      this.roll.canvas.style.cursor =
        place.isOnKeys || this.roll.isNew(this.roll.notes[place.note] ?? { start: -1 })
          ? "pointer"
          : place.isEdge
            ? "ew-resize"
            : place.note >= 0
              ? "grab"
              : "crosshair";
      return;
    }
    const { note, before, kind, place: from } = this.drag;
    const { step } = this.roll;
    const moved = Math.round((place.time - from.time) / step) * step;
    const old = { ...note };
    if (kind === "end") {
      note.end = Math.max(note.start + step, Math.ceil(place.time / step - 1e-6) * step);
    } else {
      const start = Math.max(0, before.start + moved);
      Object.assign(note, { start, end: start + before.end - before.start, pitch: place.pitch });
    }
    if (old.start === note.start && old.end === note.end && old.pitch === note.pitch) return;
    if (!this.drag.isMoved) {
      this.past.push(this.motif.map((one) => (one === note ? before : { ...one })));
      this.drag.isMoved = true;
    }
    if (old.pitch !== note.pitch) this.touched(note.pitch);
    this.roll.draw();
  }

  #up() {
    const { drag } = this;
    this.drag = null;
    if (drag?.isMoved) this.changed(this.motif.sort((a, b) => a.start - b.start || a.pitch - b.pitch));
  }

  #tap(event) {
    const place = this.roll.placeAt(event);
    const note = this.roll.notes[place.note];
    if (place.isOnKeys) this.touched(place.pitch);
    else if (note && this.roll.isNew(note)) this.chosen(place.note);
    else if (note) this.#remove(place.note);
    else this.#put(this.#snap(place.time), place.pitch);
  }

  // --- Keyboard

  #underCursor() {
    const { time, pitch } = this.roll.cursor;
    return this.roll.notes.findIndex(
      (note) => note.pitch === pitch && time >= note.start - 1e-6 && time < note.end - 1e-6,
    );
  }

  #key(event) {
    if (event.altKey || event.metaKey) return;
    if (event.ctrlKey) {
      if (event.key === "z") {
        event.preventDefault();
        this.undo();
      }
      return;
    }
    const { step } = this.roll;
    const letter = kLetters.indexOf(event.key.toLowerCase());
    const act =
      {
        ArrowLeft: () => this.#walk(event.shiftKey ? -4 * step : -step, 0),
        ArrowRight: () => this.#walk(event.shiftKey ? 4 * step : step, 0),
        ArrowUp: () => this.#walk(0, event.shiftKey ? 12 : 1),
        ArrowDown: () => this.#walk(0, event.shiftKey ? -12 : -1),
        Home: () => this.#walk(-Infinity, 0),
        End: () => this.#walk(this.roll.seconds, 0),
        Enter: () => this.#toggle(),
        " ": () => this.#toggle(),
        Delete: () => this.#remove(this.#underCursor()),
        Backspace: () => this.#back(),
        "+": () => this.#stretch(step),
        "-": () => this.#stretch(-step),
      }[event.key] ?? (letter >= 0 ? () => this.#play(letter) : null);
    if (!act) return;
    event.preventDefault();
    act();
  }

  #walk(time, pitch) {
    const { roll } = this;
    const last = Math.max(0, ...roll.notes.map((note) => note.end));
    const at = clamp(this.#snap(Math.min(roll.cursor.time + time, last + 8) + 1e-6), 0, last + 8);
    roll.cursor = { time: Number.isFinite(at) ? at : 0, pitch: clamp(roll.cursor.pitch + pitch, 0, 127) };
    roll.layout();
    roll.reveal(roll.cursor.time);
    announce(
      `${pitchSpoken(roll.cursor.pitch)}, ${roll.cursor.time.toFixed(2)} seconds${this.#underCursor() >= 0 ? ", note" : ""}`,
    );
  }

  #toggle() {
    const i = this.#underCursor();
    const { time, pitch } = this.roll.cursor;
    if (i >= 0 && this.roll.isNew(this.roll.notes[i])) this.chosen(i);
    else if (i >= 0) this.#remove(i);
    else this.#put(time, pitch);
    announce(i >= 0 ? "removed" : `${pitchSpoken(pitch)} added`);
  }

  // A letter writes the note of the cursor's octave and goes on, as one types.
  #play(semitone) {
    const { roll } = this;
    const pitch = clamp(Math.floor(roll.cursor.pitch / 12) * 12 + semitone, 0, 127);
    this.#put(roll.cursor.time, pitch);
    roll.cursor = { ...roll.cursor, time: roll.cursor.time + roll.step };
    roll.layout();
    roll.reveal(roll.cursor.time);
    announce(pitchSpoken(pitch));
  }

  #back() {
    const { roll } = this;
    roll.cursor = { ...roll.cursor, time: this.#snap(Math.max(0, roll.cursor.time - roll.step) + 1e-6) };
    this.#change(this.motif.filter((note) => Math.abs(note.start - roll.cursor.time) > 1e-6));
    announce("removed");
  }

  #stretch(by) {
    const note = this.roll.notes[this.#underCursor()];
    if (!note || this.roll.isNew(note)) return;
    const end = Math.max(note.start + this.roll.step, note.end + by);
    this.#change(this.motif.map((one) => (one === note ? { ...note, end } : one)));
    announce(`${(end - note.start).toFixed(2)} seconds long`);
  }
}
