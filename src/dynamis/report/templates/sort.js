// a click on a heading sorts the rows of its table
for (const table of document.querySelectorAll(".sortable table")) {
  const heads = [...table.querySelectorAll("th")];
  heads.forEach((head, k) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const body = table.tBodies[0], up = head.ariaSort !== "ascending";
      const value = (row) => row.cells[k].textContent;
      const compare = (a, b) => {
        const x = parseFloat(value(a)), y = parseFloat(value(b));
        return k > 0 && !isNaN(x) && !isNaN(y) ? x - y : value(a).localeCompare(value(b));
      };
      body.append(...[...body.rows].sort((a, b) => up ? compare(a, b) : compare(b, a)));
      heads.forEach((other) => other.ariaSort = null);
      head.ariaSort = up ? "ascending" : "descending";
    });
  });
}
