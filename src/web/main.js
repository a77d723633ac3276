// The studio: reads what the server's models can do and shows the pages for it. A page is made when
// it is first opened and kept, so that nothing typed is lost by looking elsewhere.
import { followKeyDialog, getJson } from "./api.js";
import { byId, element, hideTip } from "./dom.js";
import { icon } from "./icons.js";
import { emptyState, errorState, notFoundState } from "./parts/states.js";
import { followTheme } from "./theme.js";
import * as ask from "./pages/ask.js";
import * as attention from "./pages/attention.js";
import * as complete from "./pages/complete.js";
import * as images from "./pages/images.js";
import * as music from "./pages/music.js";
import * as overview from "./pages/overview.js";
import * as training from "./pages/training.js";
import * as translate from "./pages/translate.js";
import * as understand from "./pages/understand.js";
import * as welcome from "./pages/welcome.js";

// Each page has `about` {id, title, short?, lead, abilities or isUseful, wants, start}, and make(studio) which gives
// {element, shown?, hidden?, use?}; use({model, task, text}) is told what a link asks for.
const kPages = [welcome, overview, translate, complete, understand, ask, music, images, training, attention];
const kWelcomed = "heed-welcomed"; // kept in the browser after the first visit

const studio = {
  pages: kPages.map((page) => page.about),
  models: [],
  runs: [],
  withAbility: (...names) =>
    studio.models.filter((model) => names.some((name) => model.abilities.includes(name))),
  // Whether a page has something to work with.
  isUseful: (about) => about.isUseful?.(studio) ?? studio.withAbility(...about.abilities).length > 0,
};
let made = new Map();
let open = null;

function readModels(answer) {
  return answer.data.map((model) => ({ abilities: [], ...model.heed, id: model.id }));
}

function drawNavigation(current) {
  byId("pages").replaceChildren(
    ...studio.pages
      .filter(studio.isUseful)
      .map((about) =>
        element(
          "li",
          {},
          element(
            "a",
            { href: `#/${about.id}`, ...(about.id === current && { "aria-current": "page" }) },
            icon(about.id),
            about.short ?? about.title,
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
  if (!studio.isUseful(about))
    return { element: element("div", { class: "page" }, heading, emptyState(about)) };
  const view = page.make(studio);
  return {
    ...view,
    element: element("div", { class: "page", "data-page": about.id }, heading, view.element),
  };
}

// Where an address without a page leads: the first visit begins with a welcome.
const firstPage = () => (localStorage.getItem(kWelcomed) ? "overview" : "welcome");

function showPage(page, query) {
  const { id, title } = page.about;
  if (!made.has(id)) made.set(id, pageView(page));
  open = made.get(id);
  byId("page").replaceChildren(open.element);
  document.title = `${title} – Heed`;
  if (query) open.use?.(Object.fromEntries(new URLSearchParams(query)));
  open.shown?.();
  if (page === welcome) localStorage.setItem(kWelcomed, "yes");
}

function route({ focus = true } = {}) {
  const [name, query] = location.hash.replace(/^#\/?/, "").split("?");
  const page = kPages.find(({ about }) => about.id === (name || firstPage()));
  hideTip();
  open?.hidden?.();
  open = null;
  if (page) showPage(page, query);
  else {
    byId("page").replaceChildren(notFoundState(`#/${name}`));
    document.title = "Page not found – Heed";
  }
  drawNavigation(page?.about.id);
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
