"use strict";(self.rspackChunkjxkernel=self.rspackChunkjxkernel||[]).push([[1],{33(r,o,e){var t=e(34),a=e.n(t),n=e(35),i=(e.n(n))()(a());i.push([r.id,`/* What all features share. Colours are JupyterLab's variables, so that every theme fits. */

.jp-jxk-View {
  padding: 2px;
  color: var(--jp-ui-font-color1);
}

.jp-jxk-View.jp-jxk-inTab {
  padding: 12px;
  overflow: auto;
}

.jp-jxk-note {
  padding: 4px 8px;
  border-inline-start: 3px solid var(--jp-warn-color1);
  color: var(--jp-ui-font-color1);
}

.jp-jxk-Status .jp-jxk-dot {
  display: inline-block;
  width: 7px;
  height: 7px;
  margin-inline-end: 5px;
  border-radius: 50%;
  background: var(--jp-brand-color1);
}

.jp-jxk-Status.jp-jxk-inToolbar {
  display: flex;
  align-items: center;
  padding: 0 8px;
  color: var(--jp-ui-font-color1);
  font-size: var(--jp-ui-font-size1);
}

.jp-jxk-statusButton {
  display: flex;
  align-items: center;
  padding: 0;
  border: 0;
  color: inherit;
  background: none;
  font: inherit;
  cursor: pointer;
}

.jp-jxk-statusButton:focus-visible {
  outline: 2px solid currentcolor;
}
`,""]),e.d(o,{},{A:i})},43(r,o,e){var t=e(34),a=e.n(t),n=e(35),i=(e.n(n))()(a());i.push([r.id,`/*
 * Charts of plotly take the colours of the page where they have those of plotly's default template:
 * what a chart chose for itself stays. A chart that writes on its own marks or is drawn by WebGL
 * stays on its white ground, where it can be read.
 *
 * The book has this file too, hence colours are mixed with that of the text.
 */

.js-plotly-plot:has(.main-svg[style*='background: white']):has(
    .main-svg [style*='fill: rgb(42, 63, 95)']
  ):not(
    :has(
        .bglayer > .bg:not([style*='fill: rgb(229, 236, 246)']),
        :is(.pielayer, .funnelarealayer, .treemaplayer, .sunburstlayer, .iciclelayer) > *,
        .gl-container > *,
        .table-control-view
      )
  ) {
  .main-svg {
    background: transparent !important;
  }

  [style*='fill: rgb(42, 63, 95)'] {
    fill: currentcolor !important;
  }

  [style*='stroke: rgb(42, 63, 95)'] {
    stroke: currentcolor !important;
  }

  /* The ground of axes, and the outline of bars, which has its colour. */
  [style*='fill: rgb(229, 236, 246)'] {
    fill: color-mix(in srgb, currentcolor 6%, transparent) !important;
  }

  [style*='stroke: rgb(229, 236, 246)'] {
    stroke: transparent !important;
  }

  :is(.crisp, .polarlayer path, .ternarylayer path):is(
      [style*='stroke: rgb(255, 255, 255)'],
      [style*='stroke: rgb(235, 240, 248)']
    ) {
    stroke: color-mix(in srgb, currentcolor 20%, transparent) !important;
  }

  /* What lies upon axes hides them: legends, labels, menus. */
  :is(.legend > .bg, .updatemenu-item-rect, .selector-rect):is(
      [style*='fill: rgb(255, 255, 255)'],
      [style*='fill: rgb(238, 238, 238)']
    ) {
    fill: var(--jp-layout-color0, var(--color-background-primary)) !important;
  }

  .modebar-group {
    background: transparent !important;
  }

  .modebar-btn path {
    fill: color-mix(in srgb, currentcolor 40%, transparent) !important;
  }

  .modebar-btn:is(.active, :hover, :focus-visible) path {
    fill: currentcolor !important;
  }
}
`,""]),e.d(o,{},{A:i})},38(r,o,e){var t=e(34),a=e.n(t),n=e(35),i=(e.n(n))()(a());i.push([r.id,`/* The graph of a program. */

.jp-jxk-canvas {
  position: relative;
  max-height: 494px;
  overflow: auto;
  border: 1px solid var(--jp-border-color2);
  background: var(--jp-layout-color0);
  resize: vertical;
}

.jp-jxk-section {
  position: relative;
  box-sizing: content-box;
}

.jp-jxk-section + .jp-jxk-section {
  padding-top: 18px;
  border-top: 1px dashed var(--jp-border-color1);
}

.jp-jxk-seam {
  position: absolute;
  top: 0;
  inset-inline-start: 6px;
  font-size: 11px;
}

.jp-jxk-way {
  display: inline-flex;
  align-items: center;
  gap: 3px;
}

.jp-jxk-canvas svg {
  display: block;
}

.jp-jxk-wire {
  fill: none;
  stroke: var(--jp-border-color0);
  stroke-width: 1.2;
}

.jp-jxk-node {
  cursor: pointer;
}

.jp-jxk-node rect {
  fill: var(--jp-layout-color1);
  stroke: var(--jp-border-color0);
}

.jp-jxk-node.jp-mod-input > rect,
.jp-jxk-node.jp-mod-result > rect {
  fill: var(--jp-layout-color2);
}

.jp-jxk-node rect.jp-jxk-inner {
  fill: none;
}

.jp-jxk-node text {
  fill: var(--jp-ui-font-color1);
  font: 11px var(--jp-code-font-family);
  text-anchor: middle;
}

.jp-jxk-node text.jp-jxk-small {
  fill: var(--jp-ui-font-color2);
  font-size: 10px;
}

.jp-jxk-node.jp-mod-lit > rect:first-of-type {
  fill: color-mix(in srgb, var(--jp-warn-color1) 30%, var(--jp-layout-color1));
  stroke: var(--jp-warn-color1);
  stroke-width: 2;
}

.jp-jxk-node.jp-mod-active > rect:first-of-type {
  stroke: var(--jp-brand-color1);
  stroke-width: 3;
}
`,""]),e.d(o,{},{A:i})},40(r,o,e){var t=e(34),a=e.n(t),n=e(35),i=(e.n(n))()(a());i.push([r.id,`/* What \`%%jit\` shows: one line, and the details folded under it. */

.jp-jxk-fold {
  display: block;
  max-width: 100%;
  padding: 1px 4px 1px 0;
  border: 0;
  background: none;
  color: var(--jp-ui-font-color1);
  font: inherit;
  text-align: start;
  cursor: pointer;
}

.jp-jxk-fold::before {
  display: inline-block;
  width: 1.4em;
  content: '▸';
  content: '▸' / '';
}

.jp-jxk-fold[aria-expanded='true']::before {
  content: '▾';
  content: '▾' / '';
}

.jp-jxk-fold:hover {
  background: var(--jp-layout-color2);
}

.jp-jxk-Run > .jp-jxk-Folded > div > .jp-jxk-fold,
.jp-jxk-Run > .jp-jxk-line {
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
}

.jp-jxk-foldedBody {
  margin-inline-start: 0.6em;
  padding-inline-start: 0.8em;
  border-inline-start: 1px solid var(--jp-border-color2);
}

.jp-jxk-plain {
  max-height: 480px;
  margin: 2px 0;
  padding: 4px 6px;
  overflow: auto;
  border: 1px solid var(--jp-border-color2);
  background: var(--jp-layout-color0);
  color: var(--jp-content-font-color1);
  font-family: var(--jp-code-font-family);
  font-size: 12px;
}

.jp-RenderedHTMLCommon .jp-jxk-table,
.jp-jxk-table {
  margin: 2px 0;
  border-collapse: collapse;
  font-size: var(--jp-ui-font-size1);
}

.jp-jxk-table :is(th, td) {
  padding: 1px 14px 1px 0;
  border-bottom: 1px solid var(--jp-border-color2);
  text-align: start;
}
`,""]),e.d(o,{},{A:i})},36(r,o,e){var t=e(34),a=e.n(t),n=e(35),i=(e.n(n))()(a());i.push([r.id,`/* Marks in editors: a letter below, and an underline of a shape of its own; colour repeats it. */

.cm-line.jp-jxk-markedLine {
  padding-bottom: 10px;
}

.cm-line.jp-jxk-litLine {
  background: color-mix(in srgb, var(--jp-warn-color1) 24%, transparent);
}

/* What a line costs: heat in the margin, and the figures at its end. */
.cm-line.jp-jxk-costLine {
  box-shadow: inset 5px 0 0
    color-mix(in srgb, var(--jp-error-color1) var(--jp-jxk-heat), var(--jp-layout-color3));
}

.cm-line.jp-jxk-costLine::after {
  content: attr(data-jxk-cost);
  float: right;
  margin-inline: 2em 4px;
  color: var(--jp-ui-font-color2);
  font: 11px/1.6 var(--jp-ui-font-family);
  pointer-events: none;
}

.jp-jxk-mark {
  position: relative;
  text-decoration: underline 1.5px var(--jp-jxk-markColor);
  text-decoration-skip-ink: none;
  text-underline-offset: 1px;
}

.jp-jxk-mark::after {
  content: attr(data-jxk);
  position: absolute;
  inset-inline-start: 0;
  top: 100%;
  /* Larger letters move up: the line stays as high as it is. */
  margin-top: max(-1.5px, calc(10.5px - var(--jp-jxk-markSize, 8px)));
  color: var(--jp-jxk-markColor);
  font: 700 var(--jp-jxk-markSize, 8px)/1 var(--jp-ui-font-family);
  white-space: nowrap;
  pointer-events: none;
}

.jp-jxk-traced {
  --jp-jxk-markColor: var(--jp-brand-color0, var(--jp-brand-color1));
}

.jp-jxk-mark.jp-jxk-traced {
  text-decoration-style: solid;
}

.jp-jxk-static {
  --jp-jxk-markColor: var(--jp-ui-font-color2);
}

.jp-jxk-mark.jp-jxk-static {
  text-decoration-style: dotted;
}

.jp-jxk-constant {
  --jp-jxk-markColor: var(--jp-warn-color0, var(--jp-warn-color1));
}

.jp-jxk-mark.jp-jxk-constant {
  text-decoration-style: dashed;
}

.jp-jxk-effect,
.jp-jxk-loop {
  --jp-jxk-markColor: var(--jp-error-color0, var(--jp-error-color1));
}

.jp-jxk-mark.jp-jxk-effect {
  text-decoration-style: wavy;
  text-decoration-thickness: 1px;
}

.jp-jxk-mark.jp-jxk-loop {
  text-decoration-style: double;
}

.jp-jxk-mark.jp-jxk-stale {
  --jp-jxk-markColor: var(--jp-ui-font-color3);

  text-decoration-style: dotted;
}

.jp-jxk-mark.jp-jxk-stale::after {
  font-weight: 400;
  font-style: italic;
}

.cm-tooltip:has(> .jp-jxk-why) {
  border: 1px solid var(--jp-border-color1);
  border-radius: var(--jp-border-radius);
  background: var(--jp-layout-color1);
  box-shadow: var(--jp-elevation-z6);
}

.jp-jxk-why {
  max-width: min(640px, 80vw);
  max-height: 50vh;
  overflow: auto;
  padding: 4px 10px;
  color: var(--jp-ui-font-color1);
  font-size: var(--jp-ui-font-size1);
  line-height: 1.45;
}

.jp-jxk-whyOne + .jp-jxk-whyOne {
  margin-top: 4px;
  padding-top: 4px;
  border-top: 1px solid var(--jp-border-color2);
}

.jp-jxk-whyOne b {
  color: var(--jp-jxk-markColor);
}

.jp-jxk-whyOne code {
  font-family: var(--jp-code-font-family);
  font-weight: 600;
}

.jp-jxk-whyOne > div + div {
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
  white-space: pre-wrap;
}
`,""]),e.d(o,{},{A:i})},39(r,o,e){var t=e(34),a=e.n(t),n=e(35),i=(e.n(n))()(a());i.push([r.id,`/* The right panel. */

.jp-jxk-Panel {
  display: flex;
  flex-direction: column;
  --jp-sidebar-min-width: 300px;
  color: var(--jp-ui-font-color1);
  background: var(--jp-layout-color1);
  font-size: var(--jp-ui-font-size1);
  line-height: 1.45;
}

.jp-jxk-Panel h3 {
  margin: 12px 0 4px;
  font-size: var(--jp-ui-font-size1);
  font-weight: 600;
}

.jp-jxk-Panel p {
  margin: 6px 0;
}

.jp-jxk-Panel :focus-visible,
.jp-jxk-TextBody:focus-visible {
  outline: 2px solid var(--jp-brand-color1);
  outline-offset: 1px;
}

.jp-jxk-Panel .jp-jxk-panel-empty {
  padding: 8px 0;
  color: var(--jp-ui-font-color1);
}

.jp-jxk-Panel > .jp-jxk-panel-empty {
  padding: 12px;
}

.jp-jxk-panel-head {
  display: flex;
  align-items: center;
  gap: 4px;
  padding: 6px 8px 4px 12px;
}

.jp-jxk-panel-device {
  flex: 1;
  overflow: hidden;
  font-weight: 600;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.jp-jxk-panel-tabs {
  display: flex;
  flex-wrap: wrap;
  padding: 0 4px;
  border-bottom: var(--jp-border-width) solid var(--jp-border-color1);
}

.jp-jxk-panel-tabs button {
  flex: 1 1 auto;
  padding: 5px 1px;
  border: 0;
  border-bottom: 3px solid transparent;
  color: var(--jp-ui-font-color1);
  background: none;
  font: inherit;
  cursor: pointer;
}

.jp-jxk-panel-tabs button:hover {
  background: var(--jp-layout-color2);
}

.jp-jxk-panel-tabs button[aria-selected='true'] {
  border-bottom-color: var(--jp-brand-color1);
  font-weight: 600;
}

.jp-jxk-Panel .jp-jxk-panel-filter,
.jp-jxk-panel-form select,
.jp-jxk-panel-form input[type='number'] {
  box-sizing: border-box;
  height: 26px;
  padding: 2px 6px;
  border: var(--jp-border-width) solid var(--jp-border-color0);
  border-radius: var(--jp-border-radius);
  color: var(--jp-ui-font-color1);
  background: var(--jp-layout-color1);
  font: inherit;
}

.jp-jxk-Panel .jp-jxk-panel-filter {
  margin: 8px 12px 0;
}

.jp-jxk-Panel .jp-jxk-panel-filter::placeholder {
  color: var(--jp-ui-font-color2);
}

.jp-jxk-panel-content {
  flex: 1;
  overflow: auto;
  padding: 4px 12px 16px;
}

.jp-jxk-panel-summary {
  font-weight: 600;
}

.jp-jxk-Panel .jp-jxk-panel-dim {
  color: var(--jp-ui-font-color2);
}

.jp-jxk-Panel code,
.jp-jxk-panel-type {
  padding: 0;
  color: inherit;
  background: none;
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
}

.jp-jxk-panel-list,
.jp-jxk-panel-inner {
  margin: 0;
  padding: 0;
  list-style: none;
}

.jp-jxk-panel-list > li {
  padding: 7px 0;
  border-bottom: var(--jp-border-width) solid var(--jp-border-color2);
  overflow-wrap: anywhere;
}

.jp-jxk-panel-list > li.jp-jxk-panel-row {
  padding: 3px 0;
}

.jp-jxk-panel-list > li:last-child {
  border-bottom: 0;
}

.jp-jxk-panel-inner > li {
  padding-inline-start: 14px;
}

.jp-jxk-panel-row {
  display: flex;
  align-items: center;
  flex-wrap: wrap;
  gap: 2px 8px;
}

.jp-jxk-panel-name {
  font-weight: 600;
}

.jp-jxk-panel-cost {
  margin-inline-start: auto;
  font-variant-numeric: tabular-nums;
  white-space: nowrap;
}

.jp-jxk-panel-held {
  flex: 1;
}

.jp-jxk-panel-badge {
  padding: 0 6px;
  border: var(--jp-border-width) solid var(--jp-border-color0);
  border-radius: 8px;
  font-size: var(--jp-ui-font-size0);
}

.jp-mod-again .jp-jxk-panel-badge,
.jp-jxk-panel-badge.jp-mod-slow,
.jp-jxk-panel-badge.jp-mod-chosen {
  border-color: currentcolor;
  font-weight: 600;
}

.jp-jxk-panel-link {
  padding: 0;
  border: 0;
  color: var(--jp-content-link-color);
  background: none;
  font: inherit;
  text-align: start;
  text-decoration: underline;
  cursor: pointer;
}

.jp-jxk-panel-fix {
  padding-inline-start: 8px;
  border-inline-start: 3px solid var(--jp-success-color1);
}

.jp-jxk-Panel .jp-jxk-panel-failed {
  padding-inline-start: 8px;
  border-inline-start: 3px solid var(--jp-error-color1);
}

.jp-jxk-panel-failed > summary {
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.jp-jxk-panel-failed > pre {
  margin: 2px 0;
  font-family: var(--jp-code-font-family);
  font-size: 12px;
  white-space: pre-wrap;
}

.jp-jxk-panel-outcome {
  padding-inline-start: 8px;
  border-inline-start: 3px solid var(--jp-success-color1);
  white-space: pre-line;
}

.jp-jxk-panel-warning {
  display: flex;
  gap: 8px;
  margin: 6px 0;
  padding: 6px 8px;
  border: var(--jp-border-width) solid var(--jp-warn-color1);
  border-inline-start-width: 4px;
  border-radius: var(--jp-border-radius);
}

.jp-jxk-Panel details {
  margin: 4px 0;
}

.jp-jxk-Panel summary {
  cursor: pointer;
}

.jp-jxk-panel-amount {
  display: inline-flex;
  align-items: center;
  justify-content: flex-end;
  gap: 6px;
}

.jp-jxk-panel-figure {
  min-width: 4.6em;
  text-align: end;
}

.jp-jxk-panel-bar {
  flex: none;
  display: inline-block;
  width: 44px;
  height: 6px;
  border-radius: 3px;
  background: var(--jp-layout-color3);
  overflow: hidden;
}

.jp-jxk-panel-bar > span {
  display: block;
  height: 100%;
  background: var(--jp-brand-color1);
}

.jp-jxk-panel-iconButton {
  display: inline-flex;
  padding: 3px;
  border: 0;
  border-radius: var(--jp-border-radius);
  background: none;
  cursor: pointer;
}

.jp-jxk-panel-iconButton:hover {
  background: var(--jp-layout-color2);
}

.jp-jxk-panel-iconButton span {
  display: inline-flex;
  width: 16px;
}

.jp-jxk-panel-check {
  display: flex;
  align-items: center;
  gap: 6px;
  margin: 2px 0;
}

.jp-jxk-panel-check input {
  margin: 0;
}

.jp-jxk-panel-form {
  display: flex;
  flex-direction: column;
  gap: 6px;
  padding-top: 6px;
}

.jp-jxk-panel-form > label:not(.jp-jxk-panel-check) {
  display: grid;
  grid-template-columns: 8.7em 1fr;
  align-items: center;
  gap: 8px;
}

.jp-jxk-panel-form select,
.jp-jxk-panel-form input[type='number'] {
  width: 100%;
}

.jp-jxk-panel-preview {
  margin-top: 4px;
  padding: 8px;
  border: var(--jp-border-width) solid var(--jp-brand-color1);
  border-radius: var(--jp-border-radius);
}

.jp-jxk-panel-preview ul {
  margin: 4px 0;
  padding-inline-start: 18px;
}

.jp-jxk-panel-preview .jp-mod-old {
  opacity: 0.6;
}

.jp-jxk-panel-buttons {
  display: flex;
  justify-content: flex-end;
  gap: 8px;
  margin-top: 6px;
}

.jp-jxk-panel-platform {
  margin-bottom: 8px;
}

.jp-jxk-TextBody {
  max-height: 60vh;
  min-width: 30em;
  margin: 0;
  overflow: auto;
  color: var(--jp-ui-font-color1);
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
  white-space: pre-wrap;
}

.jp-Cell.jp-jxk-panel-lit {
  outline: 2px solid var(--jp-brand-color1);
  outline-offset: -2px;
}
`,""]),e.d(o,{},{A:i})},37(r,o,e){var t=e(34),a=e.n(t),n=e(35),i=(e.n(n))()(a());i.push([r.id,`/* Programs: jaxprs, stages, comparisons; and the lists and controls that views share. */

.jp-jxk-View {
  --jp-jxk-row: 20px;
  --jp-jxk-lit: color-mix(in srgb, var(--jp-warn-color1) 24%, transparent);

  font-family: var(--jp-ui-font-family);
  font-size: var(--jp-ui-font-size1);
}

.jp-jxk-dim {
  color: var(--jp-ui-font-color2);
}

.jp-jxk-hidden {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
}

.jp-jxk-bar {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 4px 8px;
  padding: 3px 0;
}

.jp-jxk-button {
  padding: 1px 8px;
  border: 1px solid var(--jp-border-color0);
  border-radius: 3px;
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  font: inherit;
  line-height: 18px;
  cursor: pointer;
}

.jp-jxk-button[type='submit'] {
  border: 2px solid var(--jp-brand-color1);
  font-weight: 600;
}

.jp-jxk-button:hover:not(:disabled) {
  background: var(--jp-layout-color2);
}

.jp-jxk-button[aria-pressed='true'] {
  border-color: var(--jp-brand-color1);
  background: color-mix(in srgb, var(--jp-brand-color1) 16%, transparent);
}

.jp-jxk-button:disabled {
  border: 1px dashed var(--jp-border-color0);
  color: var(--jp-ui-font-color2);
  cursor: default;
}

.jp-jxk-search {
  display: inline-flex;
  min-width: 0;
  max-width: 100%;
  align-items: center;
  gap: 6px;
}

.jp-jxk-search input {
  width: 14em;
  min-width: 4em;
  box-sizing: border-box;
  padding: 2px 6px;
  border: 1px solid var(--jp-border-color1);
  border-radius: 3px;
  background: var(--jp-layout-color0);
  color: var(--jp-ui-font-color1);
  font: inherit;
}

.jp-jxk-steps {
  display: inline-flex;
  align-items: center;
  gap: 3px;
}

.jp-jxk-steps input[type='range'] {
  width: 110px;
  accent-color: var(--jp-brand-color1);
}

.jp-jxk-digits {
  font-variant-numeric: tabular-nums;
}

.jp-jxk-View :is(button, input, .jp-jxk-list, .jp-jxk-canvas):focus-visible {
  outline: 2px solid var(--jp-brand-color1);
  outline-offset: 1px;
}

.jp-jxk-stack {
  display: flex;
  flex-wrap: wrap;
  gap: 4px 0;
  margin: 2px 0;
  padding: 0;
  list-style: none;
}

.jp-jxk-stack li {
  padding: 0 9px;
  border: 1px solid var(--jp-border-color1);
  border-radius: 10px;
  font-family: var(--jp-code-font-family);
  font-size: 12px;
}

.jp-jxk-stack li + li {
  margin-inline-start: 22px;
  position: relative;
}

.jp-jxk-stack li + li::before {
  content: '→';
  position: absolute;
  inset-inline-start: -18px;
}

.jp-jxk-panes {
  display: flex;
  flex-wrap: wrap;
  gap: 6px 12px;
}

.jp-jxk-pane {
  flex: 2 1 26em;
  min-width: 0;
}

.jp-jxk-panes:not(.jp-mod-stages) > .jp-jxk-pane:first-child:not(:last-child) {
  flex: 1 1 18em;
}

.jp-jxk-panes.jp-mod-stages > .jp-jxk-pane {
  flex: 1 1 40%;
}

.jp-jxk-pane > header {
  display: flex;
  gap: 8px;
  padding: 2px 0;
}

.jp-jxk-list {
  position: relative;
  overflow: auto;
  box-sizing: border-box;
  border: 1px solid var(--jp-border-color2);
  background: var(--jp-layout-color0);
  font-family: var(--jp-code-font-family);
  font-size: 12px;
  resize: vertical;
}

.jp-jxk-rows {
  position: relative;
}

.jp-jxk-row {
  position: absolute;
  inset-inline: 0;
  box-sizing: border-box;
  border-inline-start: 3px solid transparent;
  line-height: var(--jp-jxk-row);
  white-space: pre;
  cursor: default;
}

.jp-jxk-row:hover {
  background: var(--jp-layout-color2);
}

.jp-jxk-row.jp-mod-lit {
  border-inline-start-color: var(--jp-warn-color1);
  background: var(--jp-jxk-lit);
}

.jp-jxk-row.jp-mod-active {
  box-shadow: inset 0 0 0 1px var(--jp-border-color0);
}

.jp-jxk-list:focus-visible .jp-jxk-row.jp-mod-active {
  box-shadow: inset 0 0 0 2px var(--jp-brand-color1);
}

.jp-jxk-row.jp-mod-current {
  border-inline-start-color: var(--jp-brand-color1);
}

.jp-jxk-number {
  display: inline-block;
  width: 5ch;
  padding-inline-end: 1ch;
  color: var(--jp-ui-font-color2);
  text-align: end;
  user-select: none;
}

.jp-jxk-twist {
  display: inline-block;
  width: 2ch;
  cursor: pointer;
}

.jp-jxk-name[data-named='true'] {
  font-weight: 700;
}

.jp-jxk-type {
  color: var(--jp-ui-font-color2);
}

.jp-jxk-primitive {
  color: var(--jp-content-link-color);
}

.jp-jxk-notes {
  margin-inline-start: 3ch;
}

.jp-jxk-row mark {
  background: var(--jp-search-unselected-match-background-color, #ff0);
  color: var(--jp-search-unselected-match-color, #000);
}

.jp-jxk-diff {
  display: grid;
  grid-template-columns: 3ch 1fr 1fr;
}

.jp-jxk-diff.jp-mod-head {
  padding: 2px 0;
}

.jp-jxk-diff > b:first-child {
  text-align: center;
}

.jp-jxk-diff > span {
  overflow: hidden;
  text-overflow: ellipsis;
}

.jp-jxk-diff[data-sign='-'] .jp-jxk-before,
.jp-jxk-diff[data-sign='~'] .jp-jxk-before > b {
  background: color-mix(in srgb, var(--jp-error-color1) 20%, transparent);
}

.jp-jxk-diff[data-sign='+'] .jp-jxk-after,
.jp-jxk-diff[data-sign='~'] .jp-jxk-after > b {
  background: color-mix(in srgb, var(--jp-brand-color1) 22%, transparent);
}

.jp-jxk-diff[data-sign='fold'] {
  color: var(--jp-ui-font-color2);
}
`,""]),e.d(o,{},{A:i})},42(r,o,e){var t=e(34),a=e.n(t),n=e(35),i=(e.n(n))()(a());i.push([r.id,`/* The map of traced and static. Marks are those of editors. */

.jp-jxk-source {
  overflow-x: auto;
  margin: 2px 0;
  padding: 2px 0;
  border: 1px solid var(--jp-border-color2);
  background: var(--jp-layout-color0);
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
  line-height: var(--jp-code-line-height);
}

.jp-jxk-sourceLine {
  min-width: max-content;
  padding-bottom: 10px;
  border-inline-start: 3px solid transparent;
  white-space: pre;
}

.jp-jxk-sourceLine:not(:has(.jp-jxk-mark)) {
  padding-bottom: 0;
}

.jp-jxk-sourceLine.jp-mod-lit,
.jp-jxk-source .jp-jxk-mark.jp-mod-lit {
  background: var(--jp-jxk-lit);
}

.jp-jxk-sourceLine[data-chain] {
  border-inline-start-color: var(--jp-brand-color1);
}

.jp-jxk-sourceLine[data-chain]:not([data-chain='0'])::after {
  content: '  ←';
  color: var(--jp-brand-color1);
}

.jp-jxk-source .jp-jxk-mark {
  cursor: pointer;
}
`,""]),e.d(o,{},{A:i})},41(r,o,e){var t=e(34),a=e.n(t),n=e(35),i=(e.n(n))()(a());i.push([r.id,`/* Tables, and the views that are made of them: ledger, memory, timeline. */

.jp-jxk-head,
.jp-jxk-cells {
  display: grid;
  gap: 0 2ch;
  padding-inline: 4px 16px;
}

.jp-jxk-head {
  border-inline-start: 4px solid transparent;
  font-family: var(--jp-code-font-family);
  font-size: 12px;
}

.jp-jxk-wide {
  margin: -2px;
  padding: 2px;
  overflow-x: auto;
  font-family: var(--jp-code-font-family);
  font-size: 12px;
}

.jp-jxk-head > button {
  overflow: hidden;
  padding: 1px 0;
  border: 0;
  background: none;
  color: var(--jp-ui-font-color1);
  font: inherit;
  font-weight: 700;
  text-align: start;
  text-overflow: ellipsis;
  white-space: nowrap;
  cursor: pointer;
}

.jp-jxk-head > button:hover {
  text-decoration: underline;
}

.jp-jxk-cells > span {
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.jp-jxk-View .jp-mod-numeric {
  font-variant-numeric: tabular-nums;
  text-align: end;
}

.jp-jxk-length {
  display: inline-block;
  height: 9px;
  margin-inline-end: 0.6ch;
  border-radius: 1px;
  background: var(--jp-brand-color1);
}

.jp-jxk-row[data-kind='failed'] {
  border-inline-start-color: var(--jp-error-color1);
}

.jp-jxk-row[data-kind='storm'] {
  border-inline-start-color: var(--jp-warn-color1);
}

.jp-jxk-facts {
  margin: 4px 0;
  padding: 4px 10px;
  border: 1px solid var(--jp-border-color2);
  border-inline-start: 3px solid var(--jp-brand-color1);
  background: var(--jp-layout-color0);
}

.jp-jxk-facts table {
  border-collapse: collapse;
}

.jp-jxk-facts :is(th, td) {
  padding: 0 12px 0 0;
  border: 0;
  text-align: start;
  vertical-align: top;
}

.jp-jxk-facts code {
  font-family: var(--jp-code-font-family);
  font-size: 12px;
  white-space: pre-wrap;
}

.jp-jxk-chart {
  display: block;
  width: 100%;
  margin: 2px 0;
  overflow: visible;
  outline-offset: 2px;
}

.jp-jxk-chart text {
  fill: var(--jp-ui-font-color1);
  font: 11px/1 var(--jp-code-font-family);
}

.jp-jxk-chart .jp-jxk-small {
  fill: var(--jp-ui-font-color2);
  font-size: 10px;
}

.jp-jxk-chart .jp-mod-compile {
  fill: var(--jp-ui-inverse-font-color0);
  pointer-events: none;
}

.jp-jxk-chart :is(.jp-jxk-letter, .jp-jxk-sliceText) {
  pointer-events: none;
}

.jp-jxk-chart .jp-jxk-axis {
  fill: none;
  stroke: var(--jp-border-color1);
}

.jp-jxk-slice {
  cursor: pointer;
  stroke: var(--jp-brand-color1);
  fill: color-mix(in srgb, var(--jp-brand-color1) 30%, var(--jp-layout-color0));
}

.jp-jxk-slice[data-kind='trace'] {
  fill: var(--jp-layout-color0);
  stroke: var(--jp-brand-color1);
}

.jp-jxk-slice[data-kind='lower'] {
  fill: var(--jp-warn-color1);
  stroke: var(--jp-warn-color1);
}

.jp-jxk-slice[data-kind='compile'] {
  fill: var(--jp-brand-color1);
  stroke: var(--jp-brand-color1);
}

/* As in the view without the lab extension: a stage has a colour of its own, an operation that of
   its line. What was chosen stands out by its outline. */
.jp-jxk-slice.jp-mod-hue {
  stroke: color-mix(in srgb, var(--jp-ui-font-color0) 35%, transparent);
  fill-opacity: 0.42;
}

.jp-jxk-slice.jp-mod-lit {
  stroke: var(--jp-ui-font-color0);
  stroke-width: 2;
  fill: color-mix(in srgb, var(--jp-warn-color1) 70%, var(--jp-layout-color0));
}

.jp-jxk-slice.jp-mod-hue.jp-mod-lit {
  stroke: var(--jp-ui-font-color0);
  fill-opacity: 0.95;
}

.jp-jxk-slice.jp-mod-current {
  stroke: var(--jp-ui-font-color0);
  stroke-width: 2.5;
}

.jp-jxk-Table select {
  padding: 2px 4px;
  border: 1px solid var(--jp-border-color1);
  border-radius: 3px;
  background: var(--jp-layout-color0);
  color: var(--jp-ui-font-color1);
  font: inherit;
}

.jp-jxk-View :is(select, summary, .jp-jxk-head > button, .jp-jxk-chart):focus-visible {
  outline: 2px solid var(--jp-brand-color1);
  outline-offset: 1px;
}
`,""]),e.d(o,{},{A:i})},35(r){r.exports=function(r){var o=[];return o.toString=function(){return this.map(function(o){var e="",t=void 0!==o[5];return o[4]&&(e+="@supports (".concat(o[4],") {")),o[2]&&(e+="@media ".concat(o[2]," {")),t&&(e+="@layer".concat(o[5].length>0?" ".concat(o[5]):""," {")),e+=r(o),t&&(e+="}"),o[2]&&(e+="}"),o[4]&&(e+="}"),e}).join("")},o.i=function(r,e,t,a,n){"string"==typeof r&&(r=[[null,r,void 0]]);var i={};if(t)for(var p=0;p<this.length;p++){var l=this[p][0];null!=l&&(i[l]=!0)}for(var s=0;s<r.length;s++){var j=[].concat(r[s]);t&&i[j[0]]||(void 0!==n&&(void 0===j[5]||(j[1]="@layer".concat(j[5].length>0?" ".concat(j[5]):""," {").concat(j[1],"}")),j[5]=n),e&&(j[2]&&(j[1]="@media ".concat(j[2]," {").concat(j[1],"}")),j[2]=e),a&&(j[4]?(j[1]="@supports (".concat(j[4],") {").concat(j[1],"}"),j[4]=a):j[4]="".concat(a)),o.push(j))}},o}},34(r){r.exports=function(r){return r[1]}},27(r){var o=[];function e(r){for(var e=-1,t=0;t<o.length;t++)if(o[t].identifier===r){e=t;break}return e}function t(r,t){for(var a={},n=[],i=0;i<r.length;i++){var p=r[i],l=t.base?p[0]+t.base:p[0],s=a[l]||0,j="".concat(l," ").concat(s);a[l]=s+1;var d=e(j),c={css:p[1],media:p[2],sourceMap:p[3],supports:p[4],layer:p[5]};if(-1!==d)o[d].references++,o[d].updater(c);else{var x=function(r,o){var e=o.domAPI(o);return e.update(r),function(o){o?(o.css!==r.css||o.media!==r.media||o.sourceMap!==r.sourceMap||o.supports!==r.supports||o.layer!==r.layer)&&e.update(r=o):e.remove()}}(c,t);t.byIndex=i,o.splice(i,0,{identifier:j,updater:x,references:1})}n.push(j)}return n}r.exports=function(r,a){var n=t(r=r||[],a=a||{});return function(r){r=r||[];for(var i=0;i<n.length;i++){var p=e(n[i]);o[p].references--}for(var l=t(r,a),s=0;s<n.length;s++){var j=e(n[s]);0===o[j].references&&(o[j].updater(),o.splice(j,1))}n=l}}},29(r){var o={};r.exports=function(r,e){var t=function(r){if(void 0===o[r]){var e=document.querySelector(r);if(window.HTMLIFrameElement&&e instanceof window.HTMLIFrameElement)try{e=e.contentDocument.head}catch(r){e=null}o[r]=e}return o[r]}(r);if(!t)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");t.appendChild(e)}},31(r){r.exports=function(r){var o=document.createElement("style");return r.setAttributes(o,r.attributes),r.insert(o,r.options),o}},30(r,o,e){r.exports=function(r){var o=e.nc;o&&r.setAttribute("nonce",o)}},28(r){r.exports=function(r){if("u"<typeof document)return{update:function(){},remove:function(){}};var o=r.insertStyleElement(r);return{update:function(e){var t,a,n;t="",e.supports&&(t+="@supports (".concat(e.supports,") {")),e.media&&(t+="@media ".concat(e.media," {")),(a=void 0!==e.layer)&&(t+="@layer".concat(e.layer.length>0?" ".concat(e.layer):""," {")),t+=e.css,a&&(t+="}"),e.media&&(t+="}"),e.supports&&(t+="}"),(n=e.sourceMap)&&"u">typeof btoa&&(t+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(n))))," */")),r.styleTagTransform(t,o,r.options)},remove:function(){var r;null===(r=o).parentNode||r.parentNode.removeChild(r)}}}},32(r){r.exports=function(r,o){if(o.styleSheet)o.styleSheet.cssText=r;else{for(;o.firstChild;)o.removeChild(o.firstChild);o.appendChild(document.createTextNode(r))}}},26(r,o,e){var t=e(27),a=e.n(t),n=e(28),i=e.n(n),p=e(29),l=e.n(p),s=e(30),j=e.n(s),d=e(31),c=e.n(d),x=e(32),f=e.n(x),k=e(33),u={};u.styleTagTransform=f(),u.setAttributes=j(),u.insert=l().bind(null,"head"),u.domAPI=i(),u.insertStyleElement=c(),a()(k.A,u),k.A&&k.A.locals&&k.A.locals;var b=e(36),v={};v.styleTagTransform=f(),v.setAttributes=j(),v.insert=l().bind(null,"head"),v.domAPI=i(),v.insertStyleElement=c(),a()(b.A,v),b.A&&b.A.locals&&b.A.locals;var m=e(37),h={};h.styleTagTransform=f(),h.setAttributes=j(),h.insert=l().bind(null,"head"),h.domAPI=i(),h.insertStyleElement=c(),a()(m.A,h),m.A&&m.A.locals&&m.A.locals;var g=e(38),y={};y.styleTagTransform=f(),y.setAttributes=j(),y.insert=l().bind(null,"head"),y.domAPI=i(),y.insertStyleElement=c(),a()(g.A,y),g.A&&g.A.locals&&g.A.locals;var w=e(39),A={};A.styleTagTransform=f(),A.setAttributes=j(),A.insert=l().bind(null,"head"),A.domAPI=i(),A.insertStyleElement=c(),a()(w.A,A),w.A&&w.A.locals&&w.A.locals;var z=e(40),T={};T.styleTagTransform=f(),T.setAttributes=j(),T.insert=l().bind(null,"head"),T.domAPI=i(),T.insertStyleElement=c(),a()(z.A,T),z.A&&z.A.locals&&z.A.locals;var P=e(41),C={};C.styleTagTransform=f(),C.setAttributes=j(),C.insert=l().bind(null,"head"),C.domAPI=i(),C.insertStyleElement=c(),a()(P.A,C),P.A&&P.A.locals&&P.A.locals;var S=e(42),L={};L.styleTagTransform=f(),L.setAttributes=j(),L.insert=l().bind(null,"head"),L.domAPI=i(),L.insertStyleElement=c(),a()(S.A,L),S.A&&S.A.locals&&S.A.locals;var E=e(43),I={};I.styleTagTransform=f(),I.setAttributes=j(),I.insert=l().bind(null,"head"),I.domAPI=i(),I.insertStyleElement=c(),a()(E.A,I),E.A&&E.A.locals&&E.A.locals}}]);