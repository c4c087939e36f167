#include "api/report_assets.h"

namespace heed {

// Series colours have a contrast of at least 4.5 with the card in either scheme.
const std::string_view kReportStyle = R"css(
:root {
  --page: #f6f7f8; --card: #ffffff; --ink: #1b2026; --muted: #59636e; --line: #dfe3e7; --grid: #eceff1;
  --a: #1d5fbf; --b: #b8480a; --c: #11765a; --focus: #1d5fbf; --doubt-rgb: 184, 72, 10;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #101317; --card: #181c22; --ink: #e5e9ee; --muted: #9ba6b2; --line: #303741; --grid: #242a32;
    --a: #74adff; --b: #ffa066; --c: #52d1a8; --focus: #74adff; --doubt-rgb: 255, 160, 102;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 2rem clamp(1rem, 4vw, 3rem) 4rem; max-width: 88rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif;
}
h1, h2, h3, p, dl, dd, ul, figure, fieldset { margin: 0; padding: 0; }
h1 { font-size: clamp(1.6rem, 4vw, 2.2rem); line-height: 1.2; font-weight: 650; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; font-weight: 650; margin: 3rem 0 .75rem; }
h3 { font-size: 1rem; font-weight: 600; }
.kicker { color: var(--muted); font-size: .875rem; }
.lead { color: var(--muted); margin-top: .35rem; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin-top: .9rem; font-size: .9375rem; }
a { color: var(--a); text-underline-offset: .2em; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; border-radius: 3px; }
.about, .empty, .hint { color: var(--muted); max-width: 75ch; font-size: .9375rem; }
.about { margin-bottom: 1rem; }
noscript p { margin-bottom: 1rem; }

.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 9.5rem), 1fr)); margin-top: 1.75rem;
  background: var(--card); border: 1px solid var(--line); border-radius: 8px; overflow: hidden; }
.figures div { box-shadow: 1px 0 0 var(--line), 0 1px 0 var(--line); padding: .8rem 1rem .9rem; }
.figures dt { color: var(--muted); font-size: .8125rem; }
.figures dd { font-size: 1.4rem; font-weight: 600; line-height: 1.3; font-variant-numeric: tabular-nums; }
.figures small { display: block; font-size: .8125rem; font-weight: 400; color: var(--muted); }
.notes { list-style: none; margin-top: 1rem; border-left: 3px solid var(--b); padding: .1rem 0 .1rem .9rem; font-size: .9375rem; }

.controls { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem 1.5rem; margin-bottom: .9rem; font-size: .9375rem; }
.controls fieldset, .maps fieldset { border: 0; display: flex; flex-wrap: wrap; gap: .2rem 1rem; }
.controls legend, .maps legend { float: left; margin-right: .9rem; padding: 0; color: var(--muted); }
.controls label, .maps label { display: inline-flex; align-items: center; gap: .4rem; }
input { accent-color: var(--a); margin: 0; }
.charts { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem; }
.chart, .sample, .positions, .settings table, .table { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.chart { padding: .9rem 1rem .6rem; min-width: 0; }
.chart[data-chart=loss] { grid-column: 1 / -1; }
.chart figcaption { display: flex; align-items: baseline; flex-wrap: wrap; gap: 0 .6rem; }
.unit { color: var(--muted); font-size: .8125rem; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0 1.1rem; min-height: 1.5rem; font-size: .8125rem; font-variant-numeric: tabular-nums; }
.legend li { white-space: nowrap; }
.legend i { display: inline-block; width: .9rem; height: 3px; border-radius: 2px; margin-right: .4rem; vertical-align: .25em; background: currentColor; }
.legend span { color: var(--muted); }
.legend b { font-weight: 600; margin-left: .4rem; color: var(--ink); }
.chart svg { display: block; width: 100%; height: 15rem; touch-action: pan-y; }
.chart text { font-size: 12px; fill: var(--muted); font-variant-numeric: tabular-nums; paint-order: stroke; stroke: var(--card); stroke-width: 4px; stroke-linejoin: round; }
.grid { stroke: var(--grid); } .axis { stroke: var(--line); }
.resume { stroke: var(--muted); stroke-dasharray: 2 4; } .cursor { stroke: var(--muted); }
.curve { fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linejoin: round; }
.dot { fill: var(--card); stroke: currentColor; stroke-width: 1.75; }
.at { fill: currentColor; stroke: var(--card); stroke-width: 1.5; }

.table { margin-top: 1rem; }
summary { cursor: pointer; padding: .65rem 1rem; font-weight: 500; }
.scroll { overflow-x: auto; padding: 0 1rem 1rem; }
.table table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
.table th, .table td { text-align: right; padding: .25rem 1rem .25rem 0; border-bottom: 1px solid var(--grid); white-space: nowrap; }
.table th { color: var(--muted); font-weight: 500; }
.table td:last-child { text-align: left; color: var(--c); }

.sample { margin-bottom: 1rem; padding: 1rem 0 0; }
.sample > h3, .sample > dl, .sample > .empty { padding: 0 1rem; }
.sample > .empty { padding-bottom: 1rem; }
.sample > dl { display: grid; grid-template-columns: 7rem 1fr; gap: .3rem 1rem; margin: .5rem 0 .8rem; }
.sample dt { color: var(--muted); font-size: .875rem; line-height: 1.7; }
.sample dd { overflow-wrap: anywhere; min-width: 0; }
.tokens { font-size: .875rem; line-height: 1.9; }
.tokens span { border-bottom: 3px solid rgba(var(--doubt-rgb), var(--doubt)); padding-bottom: 1px; margin-right: .2rem; }
.maps { border-top: 1px solid var(--line); }
.maps > div { padding: 0 1rem 1rem; }
.maps fieldset { margin-bottom: .9rem; font-size: .9375rem; }
.explorer { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 6fr); gap: 1.5rem; align-items: start; }
.overview { overflow-x: auto; padding: 3px; }
.overview > div { display: grid; gap: 5px; align-items: center; font-size: .75rem; color: var(--muted); text-align: center; }
.overview button { all: unset; box-sizing: border-box; display: block; cursor: pointer; border: 1px solid var(--line); border-radius: 3px; line-height: 0; }
.overview button:hover { border-color: var(--muted); }
.overview button:focus-visible { outline: 2px solid var(--focus); }
.overview button[aria-pressed=true] { border-color: var(--focus); box-shadow: 0 0 0 2px var(--focus); }
canvas { image-rendering: pixelated; display: block; }
.overview canvas { width: 100%; }
.large { overflow-x: auto; padding: 3px; }
.heat { display: inline-grid; grid-template-columns: max-content max-content; font-size: 12px; line-height: 1; }
.heat .top { grid-column: 2; display: flex; align-items: flex-end; padding-bottom: 4px; }
.heat .top span { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 9em; }
.heat .left { text-align: right; padding-right: 6px; max-width: 9em; }
.heat span { display: flex; align-items: center; justify-content: flex-end; white-space: nowrap; overflow: hidden; color: var(--muted); }
.heat .top span { justify-content: flex-start; }
.heat span.on { color: var(--ink); font-weight: 650; }
.field { position: relative; outline-offset: 1px; }
.field::before { content: ""; position: absolute; inset: -1px; border: 1px solid var(--line); pointer-events: none; }
.field canvas { width: 100%; height: 100%; }
.field i { position: absolute; pointer-events: none; border: 2px solid var(--b); display: none; }
.readout { min-height: 3em; margin-top: .25rem; color: var(--muted); font-size: .875rem; font-variant-numeric: tabular-nums; }
.scale { display: flex; align-items: flex-start; gap: .7rem; margin-top: .3rem; font-size: .75rem; color: var(--muted); }
.scale div { position: relative; width: 12rem; max-width: 60%; height: 1.9rem; }
.scale canvas { width: 100%; height: .7rem; border: 1px solid var(--line); }
.scale div span { position: absolute; top: .85rem; transform: translateX(-50%); }
.positions { padding: 1rem; }
.positions .heat { display: grid; grid-template-columns: max-content minmax(0, 1fr); }
.positions .top { position: relative; height: 1.3em; }
.positions .left { position: relative; width: 2.2em; }
.positions .top span { position: absolute; writing-mode: horizontal-tb; transform: translateX(-50%); }
.positions .left span { position: absolute; right: 6px; transform: translateY(-50%); }
.positions .field { height: clamp(12rem, 30vw, 24rem); }

.settings { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: 1rem; align-items: start; }
.settings table { border-collapse: separate; border-spacing: 0; width: 100%; padding: .3rem 1rem .8rem; font-size: .875rem; table-layout: fixed; }
.settings caption { text-align: left; font-weight: 600; padding: .5rem 0 .3rem; font-size: 1rem; }
.settings th { text-align: left; font-weight: 400; color: var(--muted); vertical-align: top; width: 52%; padding: .1rem .6rem .1rem 0; overflow-wrap: anywhere; }
.settings td { color: var(--muted); overflow-wrap: anywhere; vertical-align: top; padding: .1rem 0; font-variant-numeric: tabular-nums; }
.settings .chosen th, .settings .chosen td { color: var(--ink); font-weight: 600; }

@media (max-width: 68rem) { .figures { grid-template-columns: repeat(3, minmax(0, 1fr)); } }
@media (max-width: 60rem) { .explorer { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 48rem) { .charts { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 36rem) {
  .figures dd { font-size: 1.2rem; }
  .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .sample > dl { grid-template-columns: 1fr; gap: 0; }
  .sample > dl dd { margin-bottom: .4rem; }
  .chart svg { height: 13rem; }
}
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
@media print {
  body { max-width: none; padding: 0; }
  nav, .controls, .hint { display: none; }
  .chart, .sample, .positions, .settings table { break-inside: avoid; }
}
)css";

}  // namespace heed
