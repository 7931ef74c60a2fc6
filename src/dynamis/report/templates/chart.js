// values under the pointer or by the arrow keys, and zoom along x: drag, double click
const SIZE = 2000;
function points(path) {
  if (path.found) return path.found;
  const found = [];
  let x = 0, y = 0;
  for (const [, letter, rest] of path.getAttribute("d").matchAll(/([MlVh])([^MlVhz]*)/g)) {
    const n = (rest.match(/-?\d+/g) || []).map(Number);
    if (letter === "V") { y = n[0]; found.push([x, y]); }
    if (letter === "M") { [x, y] = n; if (!path.classList.contains("stems")) found.push([x, y]); }
    if (letter === "l") {
      for (let k = 0; k < n.length; k += 2) { x += n[k]; y += n[k + 1]; found.push([x, y]); }
    }
  }
  return path.found = found;
}
const near = (list, x) => {
  let a = 0, b = list.length - 1;
  while (b - a > 1) { const m = (a + b) >> 1; if (list[m][0] < x) a = m; else b = m; }
  return x - list[a][0] < list[b][0] - x ? list[a] : list[b];
};
const scaled = (low, high, log, share) =>
  log ? low * Math.pow(high / low, share) : low + (high - low) * share;
const shown = (v) => (Math.abs(v) < 1e-12 ? 0 : +v.toPrecision(4)).toString();
const tick = (v) => (Math.abs(v) < 1e-12 ? 0 : +v.toPrecision(6)).toString().replace("-", "\u2212");
function ticks(low, high) {
  const rough = (high - low) / 6, size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * size).find((s) => s >= 0.999 * rough), found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}
for (const figure of document.querySelectorAll("figure.chart")) {
  const plots = [...figure.querySelectorAll(".plot")], out = document.createElement("output");
  out.hidden = true;
  figure.append(out);
  let view = [0, SIZE], at = null, from = null;
  const range = plots[0].dataset.range.split(" ").map(Number);
  const logs = plots[0].dataset.log === "10" || plots[0].dataset.log === "11";
  const put = (name, plot, share, width) => {
    let mark = plot.querySelector("." + name);
    if (!mark) { mark = document.createElement("b"); mark.className = name; plot.append(mark); }
    mark.hidden = share === null;
    if (share !== null) { mark.style.left = 100 * share + "%"; mark.style.width = width; }
  };
  const share = (x) => (x - view[0]) / (view[1] - view[0]);
  function read() {
    out.hidden = at === null;
    for (const plot of plots) put("cursor", plot, at === null ? null : share(at), "");
    if (at === null) return;
    const [name, unit = ""] = plots[0].dataset.across.split(", ");
    let text = `${name} ${shown(scaled(range[0], range[1], logs, at / SIZE))} ${unit}`;
    for (const plot of plots) {
      const [, , low, high] = plot.dataset.range.split(" ").map(Number);
      const parts = [...plot.querySelectorAll("path.line, path.stems")].map((path) => {
        const list = points(path);
        if (list.length < 2 || list[0][0] === list[list.length - 1][0]) return "";
        const y = scaled(low, high, plot.dataset.log[1] === "1", 1 - near(list, at)[1] / SIZE);
        return `${path.dataset.name} ${shown(y)}`;
      });
      text += " \u00b7 " + parts.filter(Boolean).join(" \u00b7 ");
    }
    out.textContent = `${text} ${plots[0].dataset.up.split(", ").pop()}`;
  }
  function zoom(low, high) {
    view = [Math.max(0, low), Math.min(SIZE, high)];
    const value = (x) => range[0] + (range[1] - range[0]) * x / SIZE, ends = view.map(value);
    for (const plot of plots) {
      plot.firstElementChild.setAttribute("viewBox", `${view[0]} 0 ${view[1] - view[0]} ${SIZE}`);
      if (plot !== plots[plots.length - 1]) continue;
      plot.querySelectorAll(".x").forEach((old) => old.remove());
      for (const v of ticks(...ends)) {
        const mark = document.createElement("span");
        mark.className = "x";
        mark.textContent = tick(v);
        mark.style.left = 100 * (v - ends[0]) / (ends[1] - ends[0]) + "%";
        plot.append(mark);
      }
    }
    read();
  }
  for (const plot of plots) {
    const place = (event) => {
      const box = plot.getBoundingClientRect(), s = (event.clientX - box.left) / box.width;
      return view[0] + Math.min(1, Math.max(0, s)) * (view[1] - view[0]);
    };
    const chosen = (x) => plots.forEach((p) => put("chosen", p, x === null ? null
      : share(Math.min(x, from)), 100 * Math.abs(share(x) - share(from)) + "%"));
    plot.addEventListener("pointermove", (event) => {
      at = place(event);
      if (from !== null) chosen(at);
      read();
    });
    plot.addEventListener("pointerleave", () => { if (from === null) { at = null; read(); } });
    plot.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "mouse" || event.button || logs) return;
      from = place(event);
      plot.setPointerCapture(event.pointerId);
    });
    plot.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const ends = [from, place(event)].sort((a, b) => a - b);
      from = null;
      chosen(null);
      if (ends[1] - ends[0] > 0.02 * (view[1] - view[0])) zoom(...ends);
    });
    plot.addEventListener("dblclick", () => { if (!logs) zoom(0, SIZE); });
    plot.addEventListener("blur", () => { at = null; out.removeAttribute("aria-live"); read(); });
    plot.addEventListener("keydown", (event) => {
      const steps = {ArrowLeft: -0.01, ArrowRight: 0.01, PageDown: -0.1, PageUp: 0.1};
      const wide = view[1] - view[0], middle = at === null ? (view[0] + view[1]) / 2 : at;
      out.setAttribute("aria-live", "polite");
      if (event.key in steps) at = Math.min(view[1], Math.max(view[0], middle + steps[event.key] * wide));
      else if (event.key === "Home") at = view[0];
      else if (event.key === "End") at = view[1];
      else if (event.key === "+" && !logs) zoom(middle - wide / 4, middle + wide / 4);
      else if (event.key === "-" && !logs) zoom(middle - wide, middle + wide);
      else if (event.key === "Escape") { at = null; if (!logs) zoom(0, SIZE); }
      else return;
      event.preventDefault();
      read();
    });
  }
}
