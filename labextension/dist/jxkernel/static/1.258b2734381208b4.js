"use strict";(self.rspackChunkjxkernel=self.rspackChunkjxkernel||[]).push([[1],{33(o,r,e){var a=e(34),t=e.n(a),n=e(35),p=(e.n(n))()(t());p.push([o.id,`/* What all features share. Colours are JupyterLab's variables, so that every theme fits. */

.jp-jxk-View {
  padding: 2px 0;
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
`,""]),e.d(r,{},{A:p})},38(o,r,e){var a=e(34),t=e.n(a),n=e(35),p=(e.n(n))()(t());p.push([o.id,`/* The graph of a program. */

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
`,""]),e.d(r,{},{A:p})},36(o,r,e){var a=e(34),t=e.n(a),n=e(35),p=(e.n(n))()(t());p.push([o.id,`/* Marks in editors: a letter below, and an underline of a shape of its own; colour repeats it. */

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
`,""]),e.d(r,{},{A:p})},39(o,r,e){var a=e(34),t=e.n(a),n=e(35),p=(e.n(n))()(t());p.push([o.id,`/* The right panel. */

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
`,""]),e.d(r,{},{A:p})},37(o,r,e){var a=e(34),t=e.n(a),n=e(35),p=(e.n(n))()(t());p.push([o.id,`/* Programs: jaxprs, stages, comparisons; and the lists and controls that views share. */

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
  align-items: center;
  gap: 6px;
}

.jp-jxk-search input {
  width: 14em;
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
`,""]),e.d(r,{},{A:p})},42(o,r,e){var a=e(34),t=e.n(a),n=e(35),p=(e.n(n))()(t());p.push([o.id,`/* The map of traced and static. Marks are those of editors. */

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
`,""]),e.d(r,{},{A:p})},40(o,r,e){var a=e(34),t=e.n(a),n=e(35),p=(e.n(n))()(t());p.push([o.id,`/* What \`%%jit\` shows: one line, and the details folded under it. */

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
`,""]),e.d(r,{},{A:p})},41(o,r,e){var a=e(34),t=e.n(a),n=e(35),p=(e.n(n))()(t());p.push([o.id,`/* Tables, and the views that are made of them: ledger, memory, timeline. */

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
`,""]),e.d(r,{},{A:p})},35(o){o.exports=function(o){var r=[];return r.toString=function(){return this.map(function(r){var e="",a=void 0!==r[5];return r[4]&&(e+="@supports (".concat(r[4],") {")),r[2]&&(e+="@media ".concat(r[2]," {")),a&&(e+="@layer".concat(r[5].length>0?" ".concat(r[5]):""," {")),e+=o(r),a&&(e+="}"),r[2]&&(e+="}"),r[4]&&(e+="}"),e}).join("")},r.i=function(o,e,a,t,n){"string"==typeof o&&(o=[[null,o,void 0]]);var p={};if(a)for(var i=0;i<this.length;i++){var l=this[i][0];null!=l&&(p[l]=!0)}for(var j=0;j<o.length;j++){var d=[].concat(o[j]);a&&p[d[0]]||(void 0!==n&&(void 0===d[5]||(d[1]="@layer".concat(d[5].length>0?" ".concat(d[5]):""," {").concat(d[1],"}")),d[5]=n),e&&(d[2]&&(d[1]="@media ".concat(d[2]," {").concat(d[1],"}")),d[2]=e),t&&(d[4]?(d[1]="@supports (".concat(d[4],") {").concat(d[1],"}"),d[4]=t):d[4]="".concat(t)),r.push(d))}},r}},34(o){o.exports=function(o){return o[1]}},27(o){var r=[];function e(o){for(var e=-1,a=0;a<r.length;a++)if(r[a].identifier===o){e=a;break}return e}function a(o,a){for(var t={},n=[],p=0;p<o.length;p++){var i=o[p],l=a.base?i[0]+a.base:i[0],j=t[l]||0,d="".concat(l," ").concat(j);t[l]=j+1;var s=e(d),c={css:i[1],media:i[2],sourceMap:i[3],supports:i[4],layer:i[5]};if(-1!==s)r[s].references++,r[s].updater(c);else{var x=function(o,r){var e=r.domAPI(r);return e.update(o),function(r){r?(r.css!==o.css||r.media!==o.media||r.sourceMap!==o.sourceMap||r.supports!==o.supports||r.layer!==o.layer)&&e.update(o=r):e.remove()}}(c,a);a.byIndex=p,r.splice(p,0,{identifier:d,updater:x,references:1})}n.push(d)}return n}o.exports=function(o,t){var n=a(o=o||[],t=t||{});return function(o){o=o||[];for(var p=0;p<n.length;p++){var i=e(n[p]);r[i].references--}for(var l=a(o,t),j=0;j<n.length;j++){var d=e(n[j]);0===r[d].references&&(r[d].updater(),r.splice(d,1))}n=l}}},29(o){var r={};o.exports=function(o,e){var a=function(o){if(void 0===r[o]){var e=document.querySelector(o);if(window.HTMLIFrameElement&&e instanceof window.HTMLIFrameElement)try{e=e.contentDocument.head}catch(o){e=null}r[o]=e}return r[o]}(o);if(!a)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");a.appendChild(e)}},31(o){o.exports=function(o){var r=document.createElement("style");return o.setAttributes(r,o.attributes),o.insert(r,o.options),r}},30(o,r,e){o.exports=function(o){var r=e.nc;r&&o.setAttribute("nonce",r)}},28(o){o.exports=function(o){if("u"<typeof document)return{update:function(){},remove:function(){}};var r=o.insertStyleElement(o);return{update:function(e){var a,t,n;a="",e.supports&&(a+="@supports (".concat(e.supports,") {")),e.media&&(a+="@media ".concat(e.media," {")),(t=void 0!==e.layer)&&(a+="@layer".concat(e.layer.length>0?" ".concat(e.layer):""," {")),a+=e.css,t&&(a+="}"),e.media&&(a+="}"),e.supports&&(a+="}"),(n=e.sourceMap)&&"u">typeof btoa&&(a+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(n))))," */")),o.styleTagTransform(a,r,o.options)},remove:function(){var o;null===(o=r).parentNode||o.parentNode.removeChild(o)}}}},32(o){o.exports=function(o,r){if(r.styleSheet)r.styleSheet.cssText=o;else{for(;r.firstChild;)r.removeChild(r.firstChild);r.appendChild(document.createTextNode(o))}}},26(o,r,e){var a=e(27),t=e.n(a),n=e(28),p=e.n(n),i=e(29),l=e.n(i),j=e(30),d=e.n(j),s=e(31),c=e.n(s),x=e(32),f=e.n(x),k=e(33),u={};u.styleTagTransform=f(),u.setAttributes=d(),u.insert=l().bind(null,"head"),u.domAPI=p(),u.insertStyleElement=c(),t()(k.A,u),k.A&&k.A.locals&&k.A.locals;var v=e(36),b={};b.styleTagTransform=f(),b.setAttributes=d(),b.insert=l().bind(null,"head"),b.domAPI=p(),b.insertStyleElement=c(),t()(v.A,b),v.A&&v.A.locals&&v.A.locals;var m=e(37),h={};h.styleTagTransform=f(),h.setAttributes=d(),h.insert=l().bind(null,"head"),h.domAPI=p(),h.insertStyleElement=c(),t()(m.A,h),m.A&&m.A.locals&&m.A.locals;var g=e(38),y={};y.styleTagTransform=f(),y.setAttributes=d(),y.insert=l().bind(null,"head"),y.domAPI=p(),y.insertStyleElement=c(),t()(g.A,y),g.A&&g.A.locals&&g.A.locals;var w=e(39),A={};A.styleTagTransform=f(),A.setAttributes=d(),A.insert=l().bind(null,"head"),A.domAPI=p(),A.insertStyleElement=c(),t()(w.A,A),w.A&&w.A.locals&&w.A.locals;var z=e(40),T={};T.styleTagTransform=f(),T.setAttributes=d(),T.insert=l().bind(null,"head"),T.domAPI=p(),T.insertStyleElement=c(),t()(z.A,T),z.A&&z.A.locals&&z.A.locals;var P=e(41),C={};C.styleTagTransform=f(),C.setAttributes=d(),C.insert=l().bind(null,"head"),C.domAPI=p(),C.insertStyleElement=c(),t()(P.A,C),P.A&&P.A.locals&&P.A.locals;var S=e(42),L={};L.styleTagTransform=f(),L.setAttributes=d(),L.insert=l().bind(null,"head"),L.domAPI=p(),L.insertStyleElement=c(),t()(S.A,L),S.A&&S.A.locals&&S.A.locals}}]);