// On a narrow page the panel takes the whole width; viser gives it 20em.
(() => {
  const name = "dynamis-layout";
  const style = document.getElementById(name) || document.createElement("style");
  style.id = name;
  style.textContent = `
    @media (max-width: 700px) {
      .mantine-Paper-root[style*="width: 20em"],
      .mantine-Paper-root [style*="width: 20em"] { width: 100% !important; }
      .mantine-Paper-root .mantine-ScrollArea-content { display: block !important; }
    }`;
  document.head.append(style);
})();
