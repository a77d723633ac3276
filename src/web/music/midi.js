// Standard MIDI files, read: notes in seconds. Tempo changes count, pedals do not.
// The bytes come from anywhere, so every length is checked and every fault has a reason.

const kDefaultTempo = 500_000; // microseconds a quarter
const kMostNotes = 100_000;

class Reader {
  constructor(bytes, from = 0, to = bytes.length) {
    Object.assign(this, { bytes, at: from, to });
  }

  get done() {
    return this.at >= this.to;
  }

  byte() {
    if (this.done) throw new Error("This MIDI file is cut short.");
    return this.bytes[this.at++];
  }

  number(size) {
    let value = 0;
    for (let i = 0; i < size; ++i) value = value * 256 + this.byte();
    return value;
  }

  text(size) {
    return String.fromCharCode(...Array.from({ length: size }, () => this.byte()));
  }

  // Seven bits a byte; the eighth says that more follow.
  variable() {
    let value = 0;
    for (let i = 0; i < 4; ++i) {
      const byte = this.byte();
      value = value * 128 + (byte & 0x7f);
      if (byte < 0x80) return value;
    }
    throw new Error("This MIDI file has a number of more than four bytes.");
  }

  skip(size) {
    if (this.at + size > this.to) throw new Error("This MIDI file is cut short.");
    this.at += size;
  }
}

// Calls with (tick, status, data bytes) for channel events, and with tempos.
function readTrack(reader, { onNote, onTempo }) {
  let tick = 0,
    status = 0;
  while (!reader.done) {
    tick += reader.variable();
    let byte = reader.byte();
    if (byte === 0xff) {
      const type = reader.byte();
      const size = reader.variable();
      if (type === 0x51 && size === 3) onTempo(tick, reader.number(3));
      else reader.skip(size);
      if (type === 0x2f) return;
    } else if (byte === 0xf0 || byte === 0xf7) {
      reader.skip(reader.variable());
    } else {
      const isNew = byte >= 0x80;
      if (isNew) status = byte;
      if (status < 0x80 || status >= 0xf0) throw new Error("This MIDI file has an event without a status.");
      const first = isNew ? reader.byte() : byte; // else the status still runs
      const kind = status & 0xf0;
      const second = kind === 0xc0 || kind === 0xd0 ? 0 : reader.byte();
      if (kind === 0x90 || kind === 0x80) {
        onNote({
          tick,
          channel: status & 15,
          pitch: first & 127,
          velocity: kind === 0x90 ? second & 127 : 0,
        });
      }
    }
  }
}

// Seconds at a tick, by the tempos before it.
function clockOf(tempos, division) {
  if (division & 0x8000) {
    const frames = 256 - (division >> 8),
      ticks = division & 255;
    return (tick) => tick / (frames * (ticks || 1));
  }
  const sorted = [{ tick: 0, tempo: kDefaultTempo }, ...tempos.sort((a, b) => a.tick - b.tick)];
  let seconds = 0;
  sorted.forEach((change, i) => {
    if (i > 0) seconds += ((change.tick - sorted[i - 1].tick) * sorted[i - 1].tempo) / division / 1e6;
    change.seconds = seconds;
  });
  return (tick) => {
    const change = sorted.findLast((one) => one.tick <= tick);
    return change.seconds + ((tick - change.tick) * change.tempo) / division / 1e6;
  };
}

// A key that goes down again before it went up ends the note it had.
function pairNotes(events, secondsAt) {
  const notes = [],
    sounding = new Map();
  const end = (key, tick) => {
    const note = sounding.get(key);
    if (!note) return;
    sounding.delete(key);
    if (tick > note.tick) {
      notes.push({
        start: secondsAt(note.tick),
        end: secondsAt(tick),
        pitch: note.pitch,
        velocity: note.velocity,
        channel: note.channel,
      });
    }
  };
  for (const event of events) {
    const key = event.channel * 128 + event.pitch;
    end(key, event.tick);
    if (event.velocity > 0) sounding.set(key, event);
  }
  const last = events.at(-1)?.tick ?? 0;
  for (const key of [...sounding.keys()]) end(key, last);
  return notes.sort((a, b) => a.start - b.start || a.pitch - b.pitch);
}

export function readMidi(bytes) {
  const reader = new Reader(bytes);
  if (bytes.length < 14 || reader.text(4) !== "MThd") throw new Error("This is not a MIDI file.");
  const headSize = reader.number(4);
  const format = reader.number(2);
  const tracks = reader.number(2);
  const division = reader.number(2);
  if (format > 1) throw new Error(`This MIDI file has format ${format}; only 0 and 1 can be read.`);
  if (division === 0) throw new Error("This MIDI file does not say how long a quarter is.");
  reader.skip(Math.max(0, headSize - 6));
  const events = [],
    tempos = [];
  for (let track = 0; track < tracks && !reader.done; ++track) {
    const name = reader.text(4);
    const size = reader.number(4);
    const from = reader.at;
    reader.skip(size);
    if (name !== "MTrk") continue;
    readTrack(new Reader(bytes, from, from + size), {
      onNote: (event) => events.push(event),
      onTempo: (tick, tempo) => tempos.push({ tick, tempo }),
    });
    if (events.length > 2 * kMostNotes) throw new Error(`This MIDI file has more than ${kMostNotes} notes.`);
  }
  // Within a tick, the keys that go up come first, so that a repeated one sounds twice.
  events.sort((a, b) => a.tick - b.tick || (a.velocity > 0) - (b.velocity > 0));
  const notes = pairNotes(events, clockOf(tempos, division));
  if (notes.length === 0) throw new Error("This MIDI file has no notes.");
  return notes;
}
