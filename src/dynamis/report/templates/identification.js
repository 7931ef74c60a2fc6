const charts = JSON.parse(document.getElementById("charts").textContent);
const places = [...document.querySelectorAll(".chart")];
const touch = matchMedia("(pointer: coarse)").matches;
function draw(place) {
  if (place.dataset.drawn) return;
  place.dataset.drawn = "yes";
  const c = charts[+place.dataset.chart];
  const line = (name, y, color, more) => Object.assign(
    {name, x: c.t, y, type: "scatter", mode: "lines", line: {color, width: 1.4}}, more);
  const miss = c.measured.map((m, i) => m === null ? null : m - c.predicted[i]);
  const axis = {gridcolor: "#e6e9ed", zerolinecolor: "#c3cad1", automargin: true, nticks: 5};
  Plotly.newPlot(place, [
    line("measured", c.measured, "#8a96a3"),
    line("predicted", c.predicted, "#1f5fa8"),
    line("residual", miss, "#c9601a", {yaxis: "y2", line: {color: "#c9601a", width: 1}}),
  ], {
    height: 300, margin: {l: 52, r: 12, t: 8, b: 40}, hovermode: "x unified",
    dragmode: touch ? false : "zoom", paper_bgcolor: "white", plot_bgcolor: "white",
    font: {family: "system-ui, sans-serif", color: "#1c2530", size: 12},
    showlegend: false,
    xaxis: Object.assign({}, axis, {
      title: {text: "time, s", standoff: 6}, anchor: "y2", nticks: 8}),
    yaxis: Object.assign({}, axis, {title: {text: c.unit}, domain: [0.42, 1]}),
    yaxis2: Object.assign({}, axis, {title: {text: c.unit}, domain: [0, 0.32], nticks: 4}),
  }, {displaylogo: false, responsive: true, displayModeBar: touch ? false : "hover",
      modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]]});
}
const waiting = [...places];
function next() {
  if (!waiting.length) return;
  draw(waiting.shift());
  setTimeout(next);
}
next();
addEventListener("beforeprint", () => places.forEach((place) => {
  draw(place);
  Plotly.relayout(place, {width: 640});
}));
addEventListener("afterprint", () => places.forEach((place) =>
  Plotly.relayout(place, {width: null, autosize: true})));
