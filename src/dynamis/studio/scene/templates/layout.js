(() => {
  const name = "dynamis-layout";
  const style = document.getElementById(name) || document.createElement("style");
  style.id = name;
  style.textContent = @CSS@;
  document.head.append(style);
})();
