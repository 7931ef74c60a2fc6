// Six tabs fit in one line. On a narrow page the panel takes the whole width; viser gives it 20em.
// The line at the present instant of a chart needs no entry in its legend.
(() => {
  const name = "dynamis-layout";
  const style = document.getElementById(name) || document.createElement("style");
  style.id = name;
  style.textContent = `
    [data-dock-tab], .mantine-Tabs-tab {
      padding-left: 0.55em !important; padding-right: 0.55em !important;
    }
    .u-legend .dynamis-now { display: none; }
    @media (max-width: 576px) {
      .mantine-Paper-root[style*="width: 20em"],
      .mantine-Paper-root [style*="width: 20em"] { width: 100% !important; }
      .mantine-Paper-root .mantine-ScrollArea-content { display: block !important; }
    }`;
  document.head.append(style);
})();
