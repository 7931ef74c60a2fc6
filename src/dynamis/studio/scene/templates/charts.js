// uPlot forgets to lay out its axes where new data arrive together with a new width, as they do
// while a run is played in a panel that is just shown: without this its ticks would be missing.
(() => {
  if (window.dynamisCharts) return;
  window.dynamisCharts = true;
  const drawn = (record) =>
    record.target.closest?.(".uplot") && record.oldValue !== record.target.getAttribute("width");
  new MutationObserver((records) => {
    if (!records.some(drawn)) return;
    const charts = window.__viserTestpoints?.uplots ?? {};
    for (const { chart } of Object.values(charts)) if (chart.width > 0) chart.redraw(false, true);
  }).observe(document.documentElement, {
    subtree: true, attributes: true, attributeFilter: ["width"], attributeOldValue: true,
  });
})();
