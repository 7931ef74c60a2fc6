// Says in words when the studio does not answer; viser shows three dots.
(() => {
  window.dynamisAlive?.abort(); // of a session before this one
  const { signal } = (window.dynamisAlive = new AbortController());
  const id = "dynamis-alive";
  const ended = `The studio does not answer. If it has ended, start it again (dynamis studio) and
    open the address that it prints; what was not saved as a file is lost. If it still runs, this
    page connects again by itself.`;
  const another = `The studio was started again. Open the address that it printed; what was not
    saved as a file is lost.`;
  const lost = "This page lost its connection. Click on it to connect again.";
  const say = (text) => {
    const shown = document.getElementById(id);
    if (shown?.textContent === text || (!shown && !text)) return;
    shown?.remove();
    if (!text) return;
    const note = document.createElement("div");
    note.id = id;
    note.setAttribute("role", "alert");
    note.textContent = text;
    note.style.cssText = `position: fixed; inset: 0 0 auto 0; z-index: 100000; padding: 0.8em 1.2em;
      background: #8c1d18; color: #ffffff; font: 15px/1.4 sans-serif; text-align: center;`;
    document.body.append(note);
  };
  const ask = async () => {
    const answer = await fetch("/alive/@KEY@/now", { signal }).catch(() => null);
    if (signal.aborted) return;
    if (answer === null) say(ended);
    else if (answer.status === 401) say(another);
    else if (answer.status === 404) say(lost);
    else say("");
  };
  say("");
  const timer = setInterval(ask, 2000);
  signal.addEventListener("abort", () => clearInterval(timer));
})();
