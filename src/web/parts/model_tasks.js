// What a model does, in words, and where the studio lets people try it. The overview and the welcome
// page say the same.
import { examplesOf } from "./examples.js";

export function languageName(code) {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code) ?? code;
  } catch {
    return code; // "source" and the like are no codes
  }
}

const withText = (ability) => (model) => examplesOf(model, ability).texts[0];
const listed = (words, most = 4) =>
  words.length <= most
    ? words.join(", ")
    : `${words.slice(0, most).join(", ")} and ${words.length - most} more`;

// In the order of the pages. `can` says what somebody can do, `does` what the model does.
const kTasks = {
  translate: {
    page: "translate",
    can: (model) => `Translate ${languageName(model.source)} into ${languageName(model.target)}`,
    does: (model) =>
      `Translates ${languageName(model.source)} into ${languageName(model.target)} and shows which words it attended to.`,
    example: withText("translate"),
  },
  complete: {
    page: "complete",
    can: () => "Continue a text",
    does: () => "Continues a text and shows which tokens it considered.",
    example: withText("complete"),
  },
  fill: {
    page: "understand",
    can: () => "Fill the gaps in a text",
    does: () => "Suggests words for gaps in a text, with their probabilities.",
    example: withText("fill"),
  },
  classify: {
    page: "understand",
    can: (model) => (model.score ? "Score texts" : "Classify texts"),
    does: (model) => (model.score ? "Scores texts." : `Classifies texts: ${listed(model.labels ?? [])}.`),
    example: withText("classify"),
  },
  embed: {
    page: "understand",
    can: () => "Compare what texts mean",
    does: () => "Turns texts into vectors, which show how similar they are.",
    example: () => null,
  },
  answer: {
    page: "ask",
    can: () => "Ask about a story",
    does: (model) => `Answers questions about stories of up to ${model.facts} sentences and shows where it looks.`,
    example: withText("answer"),
  },
  music: {
    page: "music",
    can: () => "Continue a melody",
    does: (model) => `Continues ${model.form === "chorale" ? "a chorale" : "piano music"} from a motif.`,
    example: () => null,
  },
  image: {
    page: "images",
    can: (model) => (model.enlarges ? "Enlarge pictures" : "Draw pictures"),
    does: (model) =>
      model.enlarges
        ? `Enlarges pictures to ${model.columns} × ${model.rows} pixels.`
        : `Draws pictures of ${model.columns} × ${model.rows} pixels${model.classes?.length ? `: ${listed(model.classes.map(String))}` : ""}.`,
    example: () => null,
  },
};

// [{ability, page, can, does, example, href}] of a model.
export function tasksOf(model) {
  return Object.entries(kTasks)
    .filter(([ability]) => model.abilities.includes(ability))
    .map(([ability, { page, can, does, example }]) => {
      const text = example(model);
      const query = new URLSearchParams({ model: model.id, task: ability, ...(text && { text }) });
      return { ability, page, can: can(model), does: does(model), example: text, href: `#/${page}?${query}` };
    });
}
