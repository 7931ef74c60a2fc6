// The tab remembers the key of its session and its page, and asks for them after a reload.
(async () => {
  const key = "@KEY@", slot = "dynamis tab", shown = "dynamis page", pages = "@PAGES@".split(",");
  const before = sessionStorage.getItem(slot), page = sessionStorage.getItem(shown);
  const name = (tab) => tab.textContent.trim();
  let chosen = false; // by hand, since this page was loaded
  const watch = (event) => {
    const tab = event.target.closest?.("[role=tab]");
    if (!tab || !event.isTrusted || !pages.includes(name(tab))) return;
    if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
    chosen = true;
    sessionStorage.setItem(shown, name(tab));
  };
  for (const kind of ["click", "keydown"]) document.addEventListener(kind, watch, true);
  const open = (tab) => {
    tab.click(); // a docked tab listens to keys instead
    tab.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  };
  // viser draws its panels anew while they are docked, and then opens the first page
  const show = (frames) => {
    const tab = [...document.querySelectorAll("[role=tab]")].find((x) => name(x) === page);
    if (tab && tab.getAttribute("aria-selected") !== "true") open(tab);
    if (frames > 0 && !chosen) requestAnimationFrame(() => show(frames - 1));
  };
  if (before && before !== key) await fetch(`/resume/${key}/${before}`).catch(() => {});
  sessionStorage.setItem(slot, key);
  if (page) show(120);
})();
