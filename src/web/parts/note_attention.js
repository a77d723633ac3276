// Which notes a new note looked back at: by layer and head, the strongest as a table. The roll beside it
// draws the links.
import { floatsOf } from "../bytes.js";
import { announce, element } from "../dom.js";
import { pitchName, pitchSpoken } from "../music/pitch.js";
import { headName, kMean, meanOf, splitHeads } from "./attention_data.js";
import { bar, button, choice } from "./controls.js";

const kStrongest = 8;

export class NoteAttention {
  // linked({chosen, weights by note}) is told at every choice.
  constructor({ linked }) {
    this.linked = linked;
    this.state = { layer: 0, head: kMean, at: 0 };
    this.layer = choice({
      label: "Layer",
      options: [],
      onchange: (layer) => this.#set({ layer: Number(layer) }),
    });
    this.head = choice({ label: "Head", options: [], onchange: (head) => this.#set({ head: Number(head) }) });
    this.name = element("h3", {});
    this.rows = element("ol", { class: "ranked notes" });
    this.element = element(
      "div",
      {},
      element(
        "div",
        { class: "bar-row" },
        button("← Previous note", { onclick: () => this.#set({ at: this.state.at - 1 }) }),
        button("Next note →", { onclick: () => this.#set({ at: this.state.at + 1 }) }),
        this.layer.element,
        this.head.element,
      ),
      this.name,
      this.rows,
      element(
        "p",
        { class: "hint" },
        "Choose a new note here or in the roll. The weights are those of the moment when its key goes down, summed over the tokens of each note.",
      ),
    );
  }

  show(notes, attention) {
    this.notes = notes;
    const { queries } = attention;
    this.keys = attention.keys ?? [...notes.keys()];
    this.layers = attention.layers.map((layer) => {
      const weights = splitHeads(floatsOf(layer.weights), layer.heads);
      return { layer: layer.layer, weights, mean: meanOf(weights) };
    });
    // The order in which one hears them; rows stay as the server has them.
    this.order = queries
      .map((note, row) => ({ note, row }))
      .sort((a, b) => notes[a.note].start - notes[b.note].start || notes[a.note].pitch - notes[b.note].pitch);
    this.#set({ at: 0, layer: this.layers.at(-1).layer });
  }

  // The note with this number, if it is one that the attention tells of.
  choose(note) {
    const at = this.order?.findIndex((one) => one.note === note) ?? -1;
    if (at >= 0) this.#set({ at });
  }

  #set(change) {
    Object.assign(this.state, change);
    const { state } = this;
    state.at = Math.max(0, Math.min(this.order.length - 1, state.at));
    const layer = this.layers.find((one) => one.layer === state.layer) ?? this.layers.at(-1);
    if (!(state.head < layer.weights.length)) state.head = kMean;
    this.layer.fill(
      this.layers.map((one) => [one.layer, `${one.layer}`]),
      layer.layer,
    );
    this.head.fill([[kMean, "mean"], ...layer.weights.map((_, head) => [head, `${head}`])], state.head);
    this.#draw(state.head === kMean ? layer.mean : layer.weights[state.head]);
  }

  #draw(all) {
    const { note: chosen, row } = this.order[this.state.at];
    const columns = this.keys.length + 1; // the last one is what belongs to no note
    const weights = all.subarray(row * columns, (row + 1) * columns);
    const byNote = new Float32Array(this.notes.length);
    this.keys.forEach((note, i) => {
      byNote[note] = weights[i];
    });
    const time = (note) => `${note.start.toFixed(2)} s`;
    const ranked = [...byNote.keys()]
      .sort((a, b) => byNote[b] - byNote[a])
      .slice(0, kStrongest)
      .filter((i) => byNote[i] > 0);
    const line = (name, when, weight, kind = "") =>
      element(
        "li",
        { class: kind },
        element("span", { class: "alternative" }, name),
        element("span", { class: "when" }, when),
        bar(weight / (Math.max(...weights) || 1), weight.toFixed(3)),
      );
    const note = this.notes[chosen];
    this.name.textContent = `${pitchName(note.pitch)} at ${time(note)}, layer ${this.state.layer}, ${headName(this.state.head)}`;
    this.rows.replaceChildren(
      ...ranked.map((i) =>
        line(pitchName(this.notes[i].pitch), i === chosen ? "itself" : time(this.notes[i]), byNote[i]),
      ),
      line("other", "no note", weights[columns - 1], "rest"),
    );
    announce(
      `${pitchSpoken(note.pitch)} at ${time(note)}: ` +
        ranked
          .slice(0, 3)
          .map(
            (i) => `${pitchSpoken(this.notes[i].pitch)} at ${time(this.notes[i])}, ${byNote[i].toFixed(2)}`,
          )
          .join("; "),
    );
    this.linked({ chosen, weights: byNote });
  }
}
