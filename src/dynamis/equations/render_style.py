"""The style sheet of the pages: readable on a phone, on a desk and on paper."""

STYLE = """
.dynamis { --ink: #1c2430; --muted: #5b6675; --line: #d8dee6; --wash: #f6f8fa; --accent: #0b5c8f;
  max-width: 62rem; margin: 0 auto; padding: 1.25rem 1rem 4rem; color: var(--ink);
  font: 1rem/1.55 Georgia, "Times New Roman", "DejaVu Serif", serif; background: #fff; }
.dynamis h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0; }
.dynamis h2 { font-size: 1.2rem; margin: 2.2rem 0 0.6rem; padding-top: 0.8rem;
  border-top: 1px solid var(--line); break-after: avoid; }
.dynamis h2 span { display: inline-block; min-width: 2rem; color: var(--accent); }
.dynamis p { margin: 0.5rem 0; max-width: 46rem; }
.dynamis .note { color: var(--muted); font-size: 0.88rem; }
.dynamis math { font-family: "STIX Two Math", "Latin Modern Math", "Cambria Math", math, serif;
  font-size: 1.05rem; }
.dynamis mover.dot > mo { font-size: 1.15em; font-weight: 700; }
.dynamis msup.before { margin-right: -0.14em; }
.dynamis .box { overflow-x: auto; overflow-y: hidden; padding: 0.45rem 0.1rem 0.35rem;
  max-width: 100%; scrollbar-width: thin; }
.dynamis .formulas { background: var(--wash); border-left: 3px solid var(--accent);
  padding: 0.3rem 0.9rem; margin: 0.8rem 0; }
.dynamis .items { display: flex; flex-wrap: wrap; gap: 0.5rem 2.2rem; align-items: center; }
.dynamis .entries { flex: 1 1 100%; min-width: 0; }
.dynamis .long { padding: 0.25rem 0 0.25rem 2rem; text-indent: -2rem; line-height: 2;
  overflow-x: auto; overflow-y: hidden; }
.dynamis .long > *, .dynamis .sum > * { text-indent: 0; }
.dynamis .sum { max-width: none; line-height: 1.9; }
.dynamis .value, .dynamis .value math { color: var(--accent); }
.dynamis mtable.matrix { border: 0 solid currentColor; border-width: 0 1.5px;
  border-radius: 0.45rem; padding: 0.1rem 0.15rem; margin: 0 0.2rem; }
.dynamis mtable.matrix mtd { padding: 0.28em 0.45em; }
.dynamis .value mtable.matrix mtd { text-align: -webkit-right; text-align: -moz-right; }
.dynamis table { border-collapse: collapse; font-size: 0.95rem; margin: 0.4rem 0; }
.dynamis th, .dynamis td { padding: 0.25rem 0.9rem 0.25rem 0; text-align: left; white-space: nowrap;
  border-bottom: 1px solid var(--line); }
.dynamis th { color: var(--muted); font-weight: normal; }
@media (max-width: 40rem) {
  .dynamis { padding: 0.75rem 0.75rem 3rem; font-size: 0.97rem; }
  .dynamis h1 { font-size: 1.35rem; }
  .dynamis math { font-size: 1rem; }
  .dynamis .formulas { padding: 0.2rem 0.6rem; }
}
@media print {
  .dynamis { max-width: none; padding: 0; font-size: 10pt; }
  .dynamis math { font-size: 10pt; }
  .dynamis .wide math { font-size: 7pt; }
  .dynamis .wider math { font-size: 4.5pt; }
  .dynamis .box, .dynamis .long { overflow: visible; break-inside: avoid; }
}
"""
