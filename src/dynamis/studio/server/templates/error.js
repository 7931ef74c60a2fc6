// An error below a field at the edge of the panel is brought in sight, once it is drawn.
(() => {
  const top = (x) => x.getBoundingClientRect().top;
  const look = (frames) => {
    const shown = [...document.querySelectorAll("strong")].filter(
      (x) => x.textContent === "Not possible." && x.offsetParent,
    );
    const from = document.activeElement ? top(document.activeElement) : 0;
    shown.sort((a, b) => Math.abs(top(a) - from) - Math.abs(top(b) - from));
    if (shown.length) shown[0].parentElement.scrollIntoView({ block: "nearest" });
    else if (frames > 0) requestAnimationFrame(() => look(frames - 1));
  };
  look(60);
})();
