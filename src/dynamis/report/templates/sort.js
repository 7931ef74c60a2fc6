const heads = document.querySelectorAll(".sortable th");
heads.forEach((head, k) => head.addEventListener("click", () => {
  const table = head.closest("table"), rows = [...table.rows].slice(1);
  const value = (row) => row.cells[k].textContent, up = head.dataset.up !== "yes";
  const compare = (a, b) => {
    const x = parseFloat(value(a)), y = parseFloat(value(b));
    return k > 0 && !isNaN(x) && !isNaN(y) ? x - y : value(a).localeCompare(value(b));
  };
  rows.sort((a, b) => up ? compare(a, b) : compare(b, a));
  rows.forEach((row) => row.parentNode.append(row));
  head.dataset.up = up ? "yes" : "no";
}));
