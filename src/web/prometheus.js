// Prometheus' text format, as much of it as a summary needs: families with their help and samples.
export function readMetrics(text) {
  const families = new Map();
  const familyOf = (name) => {
    if (!families.has(name)) families.set(name, { name, help: "", type: "untyped", samples: [] });
    return families.get(name);
  };
  for (const line of text.split("\n")) {
    const about = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line);
    if (about) {
      familyOf(about[2])[about[1].toLowerCase()] = about[3];
      continue;
    }
    const sample = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!sample) continue;
    const [, name, labels = "", value] = sample;
    const base = name.replace(/_(bucket|sum|count)$/, "");
    const isPart = families.get(base)?.type === "histogram" || families.get(base)?.type === "summary";
    familyOf(isPart ? base : name).samples.push({ name, labels, value: Number(value) });
  }
  return [...families.values()].filter((family) => family.samples.length > 0);
}

// The sum of a family's samples with these labels; nothing if there are none.
export function valueOf(families, name, labels = {}) {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const samples = families
    .find((family) => family.name === name)
    ?.samples.filter((sample) => wanted.every((text) => sample.labels.split(",").includes(text)));
  return samples?.length ? total(samples) : undefined;
}

const total = (samples) => samples.reduce((sum, sample) => sum + sample.value, 0);

// One number for a family: the sum over its labels, and for histograms the mean.
export function summary(family) {
  if (family.type !== "histogram" && family.type !== "summary") return total(family.samples);
  const ending = (end) => total(family.samples.filter((sample) => sample.name.endsWith(end)));
  return ending("_sum") / (ending("_count") || 1);
}
