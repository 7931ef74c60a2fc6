// The tab remembers the key of its session and its page, and asks for them after a reload.
(async () => {
  const key = "@KEY@", slot = "dynamis tab", shown = "dynamis page";
  const before = sessionStorage.getItem(slot), page = sessionStorage.getItem(shown);
  if (!window.dynamisWatches) {
    window.dynamisWatches = true;
    document.addEventListener("click", (event) => {
      const tab = event.target.closest?.("[role=tab]");
      if (tab) sessionStorage.setItem(shown, tab.textContent);
    });
  }
  const show = (tries) => {
    const tab = [...document.querySelectorAll("[role=tab]")].find((x) => x.textContent === page);
    if (tab) tab.click();
    else if (tries > 0) requestAnimationFrame(() => show(tries - 1));
  };
  if (page) show(600);
  if (before && before !== key) await fetch(`/resume/${key}/${before}`).catch(() => {});
  sessionStorage.setItem(slot, key);
})();
