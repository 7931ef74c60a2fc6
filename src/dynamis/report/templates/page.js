const figures = JSON.parse(document.getElementById("figures").textContent);
const still = {displaylogo: false, responsive: true, scrollZoom: false};
function show(place) {
  if (place.dataset.drawn) return;
  place.dataset.drawn = "yes";
  const f = figures[+place.dataset.figure];
  Plotly.newPlot(place, {data: f.data, layout: f.layout, frames: f.frames || [], config: still});
}
const places = [...document.querySelectorAll(".plot")];
const seen = new IntersectionObserver((all) => all.forEach((one) => {
  if (one.isIntersecting) { show(one.target); seen.unobserve(one.target); }
}), {rootMargin: "600px"});
places.forEach((place) => seen.observe(place));
addEventListener("beforeprint", () => places.forEach(show));
