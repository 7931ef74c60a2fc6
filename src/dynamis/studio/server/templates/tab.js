// The tab remembers the key of its session and its page, and asks for them after a reload. It says
// how wide it is: the camera's messages have the size of the canvas alone.
(async () => {
  const key = "@KEY@", slot = "dynamis tab", shown = "dynamis page", pages = "@PAGES@".split(",");
  const before = sessionStorage.getItem(slot);
  const name = (tab) => tab.textContent.trim();
  let chosen = false; // by hand, since the pages were last drawn anew
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
  // viser draws its panels anew while they are docked, or below on a narrow page, and then opens
  // the first page
  const show = (frames) => {
    const page = sessionStorage.getItem(shown);
    const tab = [...document.querySelectorAll("[role=tab]")].find((x) => name(x) === page);
    if (tab && tab.getAttribute("aria-selected") !== "true") open(tab);
    if (frames > 0 && !chosen) requestAnimationFrame(() => show(frames - 1));
  };
  if (before && before !== key) await fetch(`/resume/${key}/${before}`).catch(() => {});
  sessionStorage.setItem(slot, key);
  show(120);
  window.dynamisResize?.abort(); // of a session before this one
  const { signal } = (window.dynamisResize = new AbortController());
  const size = () => `${window.innerWidth}x${window.innerHeight}`;
  const tell = () => fetch(`/size/${key}/${size()}`).catch(() => {});
  let soon;
  const resized = () => {
    tell();
    chosen = false;
    show(60);
  };
  window.addEventListener("resize", () => {
    clearTimeout(soon);
    soon = setTimeout(resized, 100);
  }, { signal });
  tell();
})();
