// Runs before the first paint, so that a dark page never flashes white. theme.js does the rest.
document.documentElement.dataset.theme =
  localStorage.getItem("heed-theme") ??
  (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
