"""How a report looks: one column, the reader's own font, light and dark, phone and paper. Nothing is loaded from elsewhere.

Every text colour has at least 4.5 : 1 contrast to the ground that it stands on, in both schemes.
"""

CSS = """
:root {
  color-scheme: light dark;
  --ground: #fbfaf8; --panel: #ffffff; --ink: #1d2327; --soft: #5a646b; --line: #e3e0da;
  --accent: #0b6b68; --band: #cfe6e3; --truth: #a33f14; --same: #0b6b68; --different: #a33f14; --unsure: #5a646b;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #14181b; --panel: #1b2125; --ink: #e8eaeb; --soft: #a3adb3; --line: #30383d;
    --accent: #5cc9c1; --band: #1f4644; --truth: #f2a07b; --same: #5cc9c1; --different: #f2a07b; --unsure: #a3adb3;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink); overflow-wrap: anywhere;
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif;
}
main, footer { max-width: 46rem; margin: 0 auto; padding: 0 1.25rem; }
main { padding-top: clamp(2rem, 7vw, 4.5rem); }
h1 { font-size: clamp(2rem, 6.5vw, 2.9rem); line-height: 1.1; letter-spacing: -0.025em; font-weight: 650; margin: 0.4rem 0 0; }
h1 .more {
  display: block; font-size: clamp(1.1rem, 3vw, 1.35rem); line-height: 1.45; letter-spacing: -0.005em; font-weight: 400;
  color: var(--soft); margin-top: 0.7rem;
}
h2 { font-size: 1.3rem; line-height: 1.3; letter-spacing: -0.012em; font-weight: 650; margin: 0 0 0.75rem; }
h3 { font-size: 1rem; font-weight: 650; margin: 1.75rem 0 0.75rem; }
p { margin: 0 0 1rem; }
section { margin-top: 3.25rem; }
.kicker { color: var(--soft); font-size: 0.875rem; margin: 0; }
.kicker b { color: var(--accent); font-weight: 650; }
.standing { margin: 1.25rem 0 0; padding-left: 0.9rem; border-left: 3px solid var(--accent); }
.standing p { margin: 0; }
.note { color: var(--soft); font-size: 0.9rem; }
.caution { margin: 1rem 0 0; padding: 0.7rem 0.95rem; border: 1px solid var(--truth); border-radius: 8px; font-size: 0.95rem; }
.caution b { color: var(--truth); }
.figures { display: grid; grid-template-columns: repeat(4, 1fr); gap: 0.75rem; margin: 2rem 0 0; padding: 0; list-style: none; }
.figures li { background: var(--panel); border: 1px solid var(--line); border-radius: 10px; padding: 0.85rem 0.95rem; }
.figures b {
  display: block; font-size: 1.5rem; line-height: 1.2; font-weight: 650; letter-spacing: -0.02em;
  font-variant-numeric: tabular-nums; overflow-wrap: normal;
}
.figures span { color: var(--soft); font-size: 0.85rem; line-height: 1.35; display: block; margin-top: 0.2rem; }
.chart { margin: 0.5rem 0 0.75rem; }
.chart svg { display: block; width: 100%; height: auto; font-family: inherit; }
.chart svg * { stroke-linejoin: round; }
.chart .narrow { display: none; }
dl { margin: 0; border-top: 1px solid var(--line); }
dl div { display: grid; grid-template-columns: 11rem 1fr; gap: 1rem; padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; }
details { margin-top: 1rem; }
summary { cursor: pointer; color: var(--accent); width: fit-content; }
summary:focus-visible, .scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; border-radius: 3px; }
.scroll { overflow-x: auto; margin-top: 0.75rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: 0.4rem; }
th, td { text-align: left; padding: 0.4rem 0.9rem 0.4rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; color: var(--soft); white-space: nowrap; }
.numbers th, .numbers td { text-align: right; padding: 0.35rem 0 0.35rem 0.9rem; }
.numbers:has(th[scope="row"]) th:first-child { text-align: left; padding-left: 0; }
.numbers th[scope="row"] { font-weight: 400; color: inherit; }
.pairs { display: grid; grid-template-columns: repeat(auto-fill, minmax(10rem, 1fr)); gap: 0.75rem; }
.pairs { margin: 0; padding: 0; list-style: none; }
.pairs li { background: var(--panel); border: 1px solid var(--line); border-radius: 10px; padding: 0.5rem; }
.pairs .two { display: grid; grid-template-columns: 1fr 1fr; gap: 0.5rem; }
.pairs figure { margin: 0; min-width: 0; }
.pairs img, .pairs .none {
  width: 100%; aspect-ratio: 1; object-fit: contain; display: block; background: var(--ground);
  border: 1px solid var(--line); border-radius: 5px;
}
.pairs .none { display: grid; place-items: center; text-align: center; color: var(--soft); font-size: 0.75rem; }
figcaption {
  color: var(--soft); font-size: 0.75rem; line-height: 1.3; margin-top: 0.2rem; white-space: nowrap; overflow: hidden;
  text-overflow: ellipsis; direction: rtl; text-align: left;  /* the end of a path tells more than its beginning */
}
.pairs p { margin: 0.35rem 0 0; font-size: 0.8rem; line-height: 1.35; color: var(--soft); }
.verdict { font-weight: 650; }
.same { color: var(--same); } .different { color: var(--different); } .unsure { color: var(--unsure); }
code { font: 0.85em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
footer { color: var(--soft); font-size: 0.875rem; margin-top: 3.5rem; padding-top: 1.25rem; padding-bottom: 3rem; }
@media (max-width: 40rem) {
  .figures { grid-template-columns: 1fr 1fr; }
  .chart .wide { display: none; }
  .chart .narrow { display: block; }
  dl div { grid-template-columns: 8rem 1fr; gap: 0.75rem; }
  .pairs { grid-template-columns: 1fr 1fr; }
  section { margin-top: 2.5rem; }
}
@media print {
  :root {
    --ground: #fff; --panel: #fff; --ink: #000; --soft: #444; --line: #ccc;
    --accent: #0b6b68; --band: #cfe6e3; --truth: #a33f14; --same: #0b6b68; --different: #a33f14; --unsure: #444;
  }
  section, .pairs li, .figures li { break-inside: avoid; }
}
"""
