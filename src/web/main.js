// The studio: reads what the server's models can do and shows the pages for it. A page is made when
// it is first opened and kept, so that nothing typed is lost by looking elsewhere.
import { followKeyDialog, getJson } from "./api.js";
import { byId, element, hideTip } from "./dom.js";
import { icon } from "./icons.js";
import { emptyState, errorState } from "./parts/states.js";
import { followTheme } from "./theme.js";
import * as complete from "./pages/complete.js";
import * as images from "./pages/images.js";
import * as music from "./pages/music.js";
import * as overview from "./pages/overview.js";
import * as training from "./pages/training.js";
import * as translate from "./pages/translate.js";
import * as understand from "./pages/understand.js";

// Each page has `about` {id, title, lead, abilities, start}, and make(studio) which gives
// {element, shown?, hidden?, useModel?}.
const kPages = [overview, translate, complete, understand, music, images, training];

const studio = {
  pages: kPages.map((page) => page.about),
  models: [],
  runs: [],
  withAbility: (...names) =>
    studio.models.filter((model) => names.some((name) => model.abilities.includes(name))),
};
let made = new Map();
let open = null;

const isUseful = ({ about }) =>
  about.id === "overview" ||
  (about.id === "training" ? studio.runs.length > 0 : studio.withAbility(...about.abilities).length > 0);
studio.isUseful = (id) => isUseful(kPages.find((page) => page.about.id === id));

function readModels(answer) {
  return answer.data.map((model) => ({ abilities: [], ...model.heed, id: model.id }));
}

function drawNavigation(current) {
  byId("pages").replaceChildren(
    ...kPages
      .filter(isUseful)
      .map(({ about }) =>
        element(
          "li",
          {},
          element(
            "a",
            { href: `#/${about.id}`, ...(about.id === current && { "aria-current": "page" }) },
            icon(about.id),
            about.title,
          ),
        ),
      ),
  );
}

function closeMenu() {
  byId("menu").setAttribute("aria-expanded", "false");
  document.body.classList.remove("menu-open");
}

function pageView(page) {
  const { about } = page;
  const heading = element(
    "header",
    { class: "page-head" },
    element("h1", {}, about.title),
    element("p", {}, about.lead),
  );
  if (!isUseful(page)) return { element: element("div", { class: "page" }, heading, emptyState(about)) };
  const view = page.make(studio);
  return {
    ...view,
    element: element("div", { class: "page", "data-page": about.id }, heading, view.element),
  };
}

function route({ focus = true } = {}) {
  const [name, query] = location.hash.replace(/^#\/?/, "").split("?");
  const page = kPages.find(({ about }) => about.id === name) ?? overview;
  const { id, title } = page.about;
  hideTip();
  open?.hidden?.();
  if (!made.has(id)) made.set(id, pageView(page));
  open = made.get(id);
  byId("page").replaceChildren(open.element);
  document.title = `${title} – Heed`;
  drawNavigation(id);
  const model = new URLSearchParams(query ?? "").get("model");
  if (model) open.useModel?.(model);
  open.shown?.();
  if (!focus) return;
  scrollTo(0, 0);
  byId("page").focus({ preventScroll: true });
}

async function start() {
  const server = byId("server");
  try {
    studio.models = readModels(await getJson("v1/models"));
    studio.runs = (await getJson("v1/runs")).runs;
    server.textContent = `${studio.models.length} ${studio.models.length === 1 ? "model" : "models"} ready`;
    server.className = "server good";
  } catch (error) {
    server.textContent = error.status === 401 ? "API key required" : "No answer";
    server.className = "server bad";
    byId("page").replaceChildren(errorState(error, start));
    return;
  }
  open?.hidden?.();
  open = null;
  made = new Map();
  route({ focus: false });
}

byId("menu").onclick = () => {
  const isOpen = document.body.classList.toggle("menu-open");
  byId("menu").setAttribute("aria-expanded", `${isOpen}`);
};
byId("pages").addEventListener("click", closeMenu); // also for the page that is already open
addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeMenu();
});
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#/")) route(); // the skip link is none of ours
});
followTheme();
followKeyDialog(start);
start();
