// A motif is written, played or loaded; the model continues it, and every new note shows what it
// looked back at.
import { postStream } from "../api.js";
import { bytesOf } from "../bytes.js";
import { element, freshId, save } from "../dom.js";
import { readMidi } from "../music/midi.js";
import { kMotifs } from "../music/motifs.js";
import { pitchName } from "../music/pitch.js";
import { Player, Synth } from "../music/synth.js";
import {
  button,
  card,
  choice,
  modelPicker,
  numberField,
  slider,
  table,
  tableBehind,
  temperatureSlider,
  topPSlider,
} from "../parts/controls.js";
import { Job } from "../parts/job.js";
import { NoteAttention } from "../parts/note_attention.js";
import { PianoRoll } from "../parts/piano_roll.js";
import { RollEditor } from "../parts/roll_editor.js";
import { Notice } from "../parts/states.js";

export const about = {
  id: "music",
  title: "Music",
  abilities: ["music"],
  wants: "music model",
  lead: "Write a motif or drop a MIDI file, and the model continues it. Listen to the result, and see which notes each new note attended to.",
  start: {
    text: "Start the server with a model that heed train has trained on MIDI files:",
    command: "heed serve --model piano=runs/piano",
  },
};

const kMostFile = 4 << 20;
const kUsualSteps = [
  [0.125, "1/8 s"],
  [0.25, "1/4 s"],
  [0.5, "1/2 s"],
];
const kChoraleSteps = [
  [0.1875, "sixteenth"],
  [0.375, "eighth"],
  [0.75, "quarter"],
];

const namedNote = (name, text) => {
  const made = element("span", {}, text);
  made.style.setProperty("--colour", `var(${name})`);
  return made;
};

class MusicPage {
  constructor(studio) {
    const hint = freshId("roll-hint");
    this.picker = modelPicker(studio.withAbility("music"), () => this.#modelChanged());
    this.roll = new PianoRoll({ label: "Piano roll", hint });
    this.synth = new Synth();
    this.player = new Player({
      synth: this.synth,
      moved: (seconds) => this.#moved(seconds),
      ended: () => this.#ended(),
    });
    this.editor = new RollEditor({
      roll: this.roll,
      changed: (notes) => this.#setMotif(notes),
      chosen: (i) => this.looks.choose(i),
      touched: (pitch) => this.synth.touch(pitch),
    });
    this.looks = new NoteAttention({
      linked: (links) => {
        this.roll.links = links;
        this.roll.draw();
        if (links) this.roll.reveal(this.roll.notes[links.chosen].start);
      },
    });
    this.#makeControls();
    this.notes = tableBehind("Notes as a table", () => this.#table());
    this.element = element(
      "div",
      { class: "stack" },
      element("div", { class: "wide-narrow" }, this.#rollCard(hint), this.#settingsCard()),
      (this.looksCard = card("Attention of the new notes", this.looks.element)),
    );
    this.looksCard.hidden = true;
    this.#setMotif(kMotifs.arpeggios.notes);
    this.#modelChanged();
  }

  #makeControls() {
    this.example = choice({
      label: "Motif",
      options: [...Object.entries(kMotifs).map(([name, motif]) => [name, motif.name]), ["own", "Your own"]],
      value: "arpeggios",
      onchange: (name) => {
        if (kMotifs[name]) this.#replace(kMotifs[name].notes, name);
      },
    });
    this.step = choice({
      label: "Grid",
      options: kUsualSteps,
      value: 0.25,
      onchange: (step) => {
        this.roll.step = Number(step);
        this.roll.draw();
      },
    });
    this.file = element("input", {
      type: "file",
      accept: ".mid,.midi,audio/midi",
      class: "unseen",
      tabIndex: -1,
      "aria-label": "MIDI file",
    });
    this.file.onchange = () => {
      if (this.file.files[0]) this.#load(this.file.files[0]);
      this.file.value = "";
    };
    this.keepSeconds = slider({
      label: "Length taken from the file",
      min: 1,
      max: 30,
      step: 0.5,
      value: 8,
      format: (value) => `${value} s`,
      oninput: () => this.#crop(),
    });
    this.keepSeconds.element.hidden = true;
    this.play = button("Play", { onclick: () => this.#togglePlay() });
    this.seconds = slider({
      label: "New music",
      min: 1,
      max: 60,
      step: 1,
      value: 10,
      format: (value) => `${value} s`,
    });
    this.temperature = temperatureSlider({ value: 0.95 });
    this.topP = topPSlider({ value: 0.98 });
    this.seed = numberField({ label: "Seed", min: 0, placeholder: "random" });
    this.notice = new Notice({
      seconds: this.seconds.input,
      temperature: this.temperature.input,
      top_p: this.topP.input,
      seed: this.seed.input,
    });
    this.progress = element("progress", { max: 1, value: 0, hidden: true, "aria-label": "Composing" });
    this.status = element("p", { class: "hint", role: "status" });
    this.go = button("Continue the music", { class: "primary", onclick: () => this.#compose() });
    this.stop = button("Stop", { disabled: true, onclick: () => this.composing.stop() });
    this.more = button("Keep and continue", {
      disabled: true,
      title: "Make the whole piece the motif and continue it",
      onclick: () => this.#keep(),
    });
    this.download = button("Download MIDI", {
      disabled: true,
      onclick: () => save(new Blob([bytesOf(this.result.midi)], { type: "audio/midi" }), "heed.mid"),
    });
    this.composing = new Job({
      notice: this.notice,
      busy: (busy) => {
        this.stop.disabled = !busy;
        this.go.disabled = busy;
        this.progress.hidden = !busy;
      },
    });
  }

  #rollCard(hint) {
    const drop = element("div", { class: "drop" }, this.roll.frame);
    drop.ondragover = (event) => {
      event.preventDefault();
      drop.classList.add("over");
    };
    drop.ondragleave = () => drop.classList.remove("over");
    drop.ondrop = (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      if (event.dataTransfer.files[0]) this.#load(event.dataTransfer.files[0]);
    };
    return card(
      "Piano roll",
      element(
        "div",
        { class: "bar-row" },
        this.example.element,
        this.step.element,
        button("Open MIDI…", { onclick: () => this.file.click() }),
        this.file,
        button("Undo", { onclick: () => this.editor.undo() }),
        button("Clear", { onclick: () => this.#replace([], "own") }),
      ),
      this.keepSeconds.element,
      drop,
      element(
        "div",
        { class: "legend blocks" },
        namedNote("--motif", "motif"),
        namedNote("--new", "new notes"),
        namedNote("--link", "attended to"),
      ),
      element("div", { class: "row" }, this.go, this.stop, this.play, this.more, this.download),
      this.progress,
      this.status,
      this.notice.element,
      element(
        "p",
        { class: "hint", id: hint },
        "Drag to draw a note, double-click to remove it, or drop a MIDI file here. With the keyboard, the arrow keys move the cursor, ",
        element("kbd", {}, "Enter"),
        " adds or removes a note, ",
        element("kbd", {}, "A"),
        " to ",
        element("kbd", {}, "K"),
        " enter notes like piano keys, and ",
        element("kbd", {}, "+"),
        " and ",
        element("kbd", {}, "−"),
        " change its length.",
      ),
      this.notes,
    );
  }

  #settingsCard() {
    return card(
      "Settings",
      this.picker.element,
      this.seconds.element,
      this.temperature.element,
      this.topP.element,
      this.seed.element,
    );
  }

  #modelChanged() {
    const isChorale = this.picker.model.form === "chorale";
    this.step.fill(isChorale ? kChoraleSteps : kUsualSteps, isChorale ? 0.375 : 0.25);
    this.roll.step = Number(this.step.value);
    if (kMotifs[this.example.value]) {
      const name = isChorale ? "chorale" : "arpeggios";
      this.example.value = name;
      this.#setMotif(kMotifs[name].notes, name);
    }
  }

  // --- The motif

  #setMotif(notes, example = "own") {
    this.composing.stop();
    this.player.stop();
    this.result = null;
    this.motif = notes.map((note) => ({ ...note }));
    if (example === "own" && this.roll.notes.length > 0) this.example.value = "own";
    this.roll.selected = undefined;
    this.roll.show({ notes: this.motif });
    this.looksCard.hidden = true;
    this.more.disabled = this.download.disabled = true;
    this.status.textContent = notes.length === 0 ? "Without a motif, the model improvises." : "";
    this.notes.ontoggle();
  }

  #replace(notes, example) {
    this.loaded = null;
    this.keepSeconds.element.hidden = true;
    this.#setMotif(notes, example);
    this.roll.element.scrollLeft = 0;
  }

  async #load(file) {
    this.notice.clear();
    try {
      if (file.size > kMostFile) throw new Error(`${file.name} is larger than ${kMostFile >> 20} MB.`);
      const notes = readMidi(new Uint8Array(await file.arrayBuffer()));
      const first = notes[0].start;
      this.loaded = notes.map((note) => ({ ...note, start: note.start - first, end: note.end - first }));
      const length = Math.ceil(this.loaded.at(-1).end);
      this.keepSeconds.input.max = Math.min(60, Math.max(2, length));
      this.keepSeconds.value = Math.min(8, length);
      this.keepSeconds.element.hidden = length <= 2;
      this.#crop();
      this.roll.element.scrollLeft = 0;
      this.status.textContent = `${file.name}: ${notes.length} notes, ${length} s.`;
    } catch (error) {
      this.notice.show(error);
    }
  }

  #crop() {
    if (this.loaded) this.#setMotif(this.loaded.filter((note) => note.start < this.keepSeconds.value));
  }

  #keep() {
    const { notes } = this.result;
    this.#replace(notes, "own");
    this.#compose();
  }

  // --- Sound

  #togglePlay() {
    if (this.player.playing) {
      this.player.stop();
      return;
    }
    this.play.textContent = "Stop";
    this.player.play(this.roll.notes);
  }

  #moved(seconds) {
    this.roll.follow(seconds);
  }

  #ended() {
    this.play.textContent = "Play";
    this.roll.playhead = null;
    this.roll.draw();
  }

  // --- The model

  #compose() {
    const request = {
      model: this.picker.model.id,
      notes: this.motif,
      seconds: this.seconds.value,
      temperature: this.temperature.value,
      top_p: this.topP.value,
      seed: this.seed.value,
      attention: this.picker.model.abilities.includes("attention"),
    };
    return this.composing.run(async (signal) => {
      this.progress.value = 0;
      this.status.textContent = "Reading the motif…";
      for await (const event of postStream("v1/music/continue", request, { signal })) {
        if (event.notes) this.#show(event);
        else {
          this.progress.value = event.progress;
          this.status.textContent = `${event.notes_so_far} notes so far`;
        }
      }
    });
  }

  #show(result) {
    this.result = result;
    this.roll.show({ notes: result.notes, motifEnd: result.motif_end });
    const fresh = result.notes.filter((note) => this.roll.isNew(note)).length;
    this.status.textContent = `${fresh} new notes, ${result.duration.toFixed(1)} s in total.`;
    this.more.disabled = false;
    this.download.disabled = !result.midi;
    this.looksCard.hidden = !result.attention?.layers?.length || result.attention.queries.length === 0;
    if (!this.looksCard.hidden) this.looks.show(result.notes, result.attention);
    this.roll.reveal(result.motif_end);
    this.notes.ontoggle();
  }

  #table() {
    return table(
      ["start", "length", "pitch", "velocity", ""],
      this.roll.notes.map((note) => [
        `${note.start.toFixed(2)} s`,
        `${(note.end - note.start).toFixed(2)} s`,
        pitchName(note.pitch),
        `${note.velocity}`,
        this.roll.isNew(note) ? "new" : "motif",
      ]),
    );
  }
}

export const make = (studio) => {
  const page = new MusicPage(studio);
  return {
    element: page.element,
    hidden: () => page.player.stop(),
    use: ({ model }) => page.picker.use(model),
  };
};
