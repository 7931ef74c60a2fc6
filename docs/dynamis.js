// tables that scroll can be reached with the keyboard
document$.subscribe(() => {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) table.tabIndex = 0;
});
