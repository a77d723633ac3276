// Images that appear sample by sample: new ones, the rest of given ones, or large ones from small ones.
import { postStream } from "../api.js";
import { bytesOf } from "../bytes.js";
import { announce, element, save } from "../dom.js";
import {
  button,
  card,
  choice,
  modelPicker,
  numberField,
  segments,
  slider,
  temperatureSlider,
} from "../parts/controls.js";
import { Job } from "../parts/job.js";
import { Notice } from "../parts/states.js";
import { base64OfBlob, encodePng, fitPicture, pngUrl } from "../png.js";

export const about = {
  id: "images",
  title: "Images",
  abilities: ["image"],
  wants: "image model",
  lead: "Watch the model draw images pixel by pixel: new ones, the rest of a given one, or a larger version of a small one.",
  start: {
    text: "Start the server with a model that heed train has trained on images:",
    command: "heed serve --model digits=runs/mnist",
  },
};

const kModes = {
  sample: { name: "New", action: "Draw", path: "v1/image/sample" },
  complete: { name: "Complete", action: "Complete", path: "v1/image/complete" },
  upscale: { name: "Enlarge", action: "Enlarge", path: "v1/image/upscale" },
};
const modesOf = (model) => (model.enlarges ? ["upscale"] : ["sample", "complete"]);

class ImagesPage {
  constructor(studio) {
    this.picker = modelPicker(studio.withAbility("image"), () => this.#modelChanged());
    this.modes = segments({ label: "What to do", options: [], onchange: (mode) => this.#setMode(mode) });
    this.count = slider({ label: "Images", min: 1, max: 16, step: 1, value: 8 });
    this.class = choice({ label: "Class", options: [] });
    this.temperature = temperatureSlider({ min: 0.1, value: 1 });
    this.seed = numberField({ label: "Seed", min: 0, placeholder: "random" });
    this.rows = slider({
      label: "Rows to keep",
      min: 1,
      max: 2,
      step: 1,
      value: 1,
      oninput: () => this.#drawGiven(),
    });
    this.notice = new Notice({
      count: this.count.input,
      class: this.class.input,
      temperature: this.temperature.input,
      seed: this.seed.input,
      rows_given: this.rows.input,
    });
    this.progress = element("progress", { max: 1, value: 0, hidden: true, "aria-label": "Drawing" });
    this.status = element("p", { class: "hint", role: "status" });
    this.grid = element("ul", { class: "pictures", "aria-label": "Images" });
    this.go = button("Draw", { class: "primary", onclick: () => this.#draw() });
    this.stop = button("Stop", { disabled: true, onclick: () => this.drawing.stop() });
    this.drawing = new Job({
      notice: this.notice,
      busy: (busy) => {
        this.stop.disabled = !busy;
        this.progress.hidden = !busy;
        this.grid.setAttribute("aria-busy", `${busy}`);
      },
    });
    this.given = null; // {blob, rows, columns}: the picture to complete or to enlarge
    this.givenPlace = this.#givenPlace();
    this.element = element(
      "div",
      { class: "stack" },
      element(
        "div",
        { class: "wide-narrow" },
        card(
          "Images",
          element("div", { class: "row" }, this.go, this.stop),
          this.notice.element,
          this.progress,
          this.grid,
          this.status,
        ),
        card(
          "Settings",
          this.picker.element,
          this.modes.element,
          this.givenPlace,
          this.rows.element,
          this.count.element,
          this.class.element,
          this.temperature.element,
          this.seed.element,
        ),
      ),
    );
    this.#modelChanged();
  }

  #givenPlace() {
    this.file = element("input", {
      type: "file",
      accept: "image/*",
      class: "unseen",
      tabIndex: -1,
      "aria-label": "Picture",
    });
    this.file.onchange = () => {
      if (this.file.files[0]) this.#give(this.file.files[0]);
      this.file.value = "";
    };
    this.givenImage = element("img", { alt: "The given picture", hidden: true });
    this.veil = element("div", { class: "veil" });
    this.givenFrame = element("div", { class: "given-frame" }, this.givenImage, this.veil);
    const place = element(
      "div",
      { class: "given drop" },
      this.givenFrame,
      element(
        "div",
        {},
        button("Choose…", { onclick: () => this.file.click() }),
        this.file,
        element(
          "p",
          { class: "hint" },
          "Choose a picture or drop one here. It is cropped to the size that the model reads.",
        ),
      ),
    );
    place.ondragover = (event) => {
      event.preventDefault();
      place.classList.add("over");
    };
    place.ondragleave = () => place.classList.remove("over");
    place.ondrop = (event) => {
      event.preventDefault();
      place.classList.remove("over");
      if (event.dataTransfer.files[0]) this.#give(event.dataTransfer.files[0]);
    };
    return place;
  }

  #modelChanged() {
    const { model } = this.picker;
    const modes = modesOf(model);
    this.given = null;
    this.grid.replaceChildren();
    this.status.textContent = `The model draws ${model.columns} by ${model.rows} pixels ${model.channels === 1 ? "in grey" : "in colour"}.`;
    this.modes.fill(
      modes.map((mode) => [mode, kModes[mode].name]),
      modes[0],
    );
    this.modes.element.hidden = modes.length < 2;
    this.class.fill([["", "any"], ...(model.classes ?? []).map((name) => [name, `${name}`])], "");
    this.rows.input.max = model.rows - 1;
    this.rows.value = Math.floor(model.rows / 2);
    this.#setMode(modes[0]);
  }

  #setMode(mode) {
    this.mode = mode;
    const { model } = this.picker;
    this.givenPlace.hidden = mode === "sample";
    this.rows.element.hidden = mode !== "complete";
    this.class.element.hidden = !model.classes?.length || mode === "upscale";
    this.go.textContent = kModes[mode].action;
    this.#drawGiven();
  }

  // --- The given picture

  async #give(blob) {
    this.notice.clear();
    const { model } = this.picker;
    const [rows, columns] =
      this.mode === "upscale"
        ? [
            model.source_rows ?? Math.ceil(model.rows / 4),
            model.source_columns ?? Math.ceil(model.columns / 4),
          ]
        : [model.rows, model.columns];
    try {
      this.given = {
        blob: await encodePng(await fitPicture(blob, columns, rows), model.channels),
        rows,
        columns,
      };
    } catch {
      this.notice.show(new Error("The browser cannot read this file as a picture."));
    }
    this.#drawGiven();
  }

  #drawGiven() {
    this.go.disabled = this.mode !== "sample" && !this.given;
    this.givenImage.hidden = !this.given;
    if (!this.given) {
      this.veil.style.height = "0";
      return;
    }
    if (this.shownBlob !== this.given.blob) {
      if (this.givenImage.src) URL.revokeObjectURL(this.givenImage.src);
      this.givenImage.src = URL.createObjectURL(this.given.blob);
      this.shownBlob = this.given.blob;
    }
    this.veil.style.height =
      this.mode === "complete" ? `${100 * (1 - this.rows.value / this.given.rows)}%` : "0";
  }

  // --- Drawing

  async #request() {
    const { model } = this.picker;
    const request = {
      model: model.id,
      count: this.count.value,
      temperature: this.temperature.value,
      seed: this.seed.value,
    };
    if (!this.class.element.hidden && this.class.value !== "") request.class = this.class.value;
    if (this.mode !== "sample") request.png = await base64OfBlob(this.given.blob);
    if (this.mode === "complete") request.rows_given = this.rows.value;
    return request;
  }

  async #draw() {
    await this.drawing.run(async (signal) => {
      this.progress.value = 0;
      this.grid.replaceChildren();
      this.status.textContent = "Waiting for the first pixels…";
      for await (const event of postStream(kModes[this.mode].path, await this.#request(), { signal })) {
        const isLast = event.step === undefined;
        this.#show(event.images, isLast);
        if (isLast) continue;
        this.progress.value = event.step / event.steps;
        this.status.textContent = `${Math.round((100 * event.step) / event.steps)}% drawn`;
      }
      const count = this.grid.children.length;
      this.status.textContent = `${count} ${count === 1 ? "image" : "images"}.`;
      announce(this.status.textContent);
    });
  }

  #show(images, isLast) {
    const { model } = this.picker;
    while (this.grid.children.length < images.length) {
      this.grid.append(
        element(
          "li",
          {},
          element("img", {
            alt: `Image ${this.grid.children.length + 1}`,
            width: model.columns,
            height: model.rows,
          }),
        ),
      );
    }
    images.forEach((png, i) => {
      const item = this.grid.children[i];
      item.firstChild.src = pngUrl(png);
      if (isLast && item.children.length === 1) item.append(this.#actions(png, i));
    });
  }

  #actions(png, i) {
    const blob = () => new Blob([bytesOf(png)], { type: "image/png" });
    return element(
      "div",
      { class: "picture-actions" },
      button("Save", {
        "aria-label": `Save image ${i + 1}`,
        onclick: () => save(blob(), `heed-${i + 1}.png`),
      }),
      modesOf(this.picker.model).includes("complete") &&
        button("Vary", {
          "aria-label": `Vary image ${i + 1}`,
          title: "Keep the upper part and draw the rest again",
          onclick: async () => {
            this.modes.choose("complete");
            await this.#give(blob());
          },
        }),
    );
  }
}

export const make = (studio) => {
  const page = new ImagesPage(studio);
  return { element: page.element, use: ({ model }) => page.picker.use(model) };
};
