// Line icons of the pages, drawn here: 24 by 24, strokes only.
import { shape } from "./dom.js";

const kPaths = {
  welcome: "M4 11l8-7 8 7 M6 10v10h12V10 M10 20v-6h4v6",
  overview: "M4 4h7v7H4z M13 4h7v4h-7z M13 11h7v9h-7z M4 14h7v6H4z",
  translate: "M4 6h9 M8.5 4v2 M11 6c-1 4-4 7-7 8 M6 9c1 3 4 5 6 6 M12.5 20l4-10 4 10 M14 17h5",
  complete: "M4 6h16 M4 11h12 M4 16h7 M15 15l2 2 4-5",
  understand: "M4 5h16v11h-9l-4 4v-4H4z M8 9h3 M14 9h2 M8 12.5h8",
  ask: "M12 20a8 8 0 1 1 8-8c0 2-.6 3.6-1.6 5L20 20z M9.5 9.5a2.5 2.5 0 1 1 3.4 2.3c-.6.3-.9.8-.9 1.4 M12 15.8h.01",
  music:
    "M9 18V6l10-2v12 M9 18a2.5 2.5 0 1 1-5 0a2.5 2.5 0 0 1 5 0 M19 16a2.5 2.5 0 1 1-5 0a2.5 2.5 0 0 1 5 0",
  images: "M4 5h16v14H4z M4 16l5-5 4 4 3-3 4 4 M16.5 9.5h.01",
  training: "M4 4v16h16 M7 8c3 0 3 7 6 7s3-2 7-2",
  attention:
    "M5 6h.01 M12 6h.01 M19 6h.01 M5 18h.01 M12 18h.01 M19 18h.01 M5 8l7 8 M12 8v8 M19 8l-7 8 M19 8v8",
};

export const icon = (name) =>
  shape(
    "svg",
    { class: "icon", viewBox: "0 0 24 24", "aria-hidden": true },
    shape("path", { d: kPaths[name] }),
  );
