"use strict";(self.rspackChunkjxkernel=self.rspackChunkjxkernel||[]).push([[0],{29(r,o,e){var t=e(30),a=e.n(t),n=e(31),i=(e.n(n))()(a());i.push([r.id,`/* What all features share. Colours are JupyterLab's variables, so that every theme fits. */

.jp-jxk-View {
  padding: 2px 0;
  color: var(--jp-ui-font-color1);
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
`,""]),e.d(o,{},{A:i})},34(r,o,e){var t=e(30),a=e.n(t),n=e(31),i=(e.n(n))()(a());i.push([r.id,`/* The graph of a program. */

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
`,""]),e.d(o,{},{A:i})},32(r,o,e){var t=e(30),a=e.n(t),n=e(31),i=(e.n(n))()(a());i.push([r.id,`/* Marks in editors: a letter below, and an underline of a shape of its own; colour repeats it. */

.cm-line.jp-jxk-markedLine {
  padding-bottom: 9px;
}

.jp-jxk-mark {
  position: relative;
  text-decoration: underline 1.5px var(--jp-jxk-markColor);
  text-decoration-skip-ink: none;
  text-underline-offset: 2px;
}

.jp-jxk-mark::after {
  content: attr(data-jxk);
  position: absolute;
  inset-inline-start: 0;
  top: 100%;
  margin-top: 1px;
  color: var(--jp-jxk-markColor);
  font: 700 8px/1 var(--jp-ui-font-family);
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
`,""]),e.d(o,{},{A:i})},33(r,o,e){var t=e(30),a=e.n(t),n=e(31),i=(e.n(n))()(a());i.push([r.id,`/* Programs: jaxprs, stages, comparisons; and the lists and controls that views share. */

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
  border: 1px solid var(--jp-border-color1);
  border-radius: 3px;
  background: var(--jp-layout-color1);
  color: var(--jp-ui-font-color1);
  font: inherit;
  line-height: 18px;
  cursor: pointer;
}

.jp-jxk-button:hover:not(:disabled) {
  background: var(--jp-layout-color2);
}

.jp-jxk-button[aria-pressed='true'] {
  border-color: var(--jp-brand-color1);
  background: color-mix(in srgb, var(--jp-brand-color1) 16%, transparent);
}

.jp-jxk-button:disabled {
  opacity: 0.5;
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
`,""]),e.d(o,{},{A:i})},31(r){r.exports=function(r){var o=[];return o.toString=function(){return this.map(function(o){var e="",t=void 0!==o[5];return o[4]&&(e+="@supports (".concat(o[4],") {")),o[2]&&(e+="@media ".concat(o[2]," {")),t&&(e+="@layer".concat(o[5].length>0?" ".concat(o[5]):""," {")),e+=r(o),t&&(e+="}"),o[2]&&(e+="}"),o[4]&&(e+="}"),e}).join("")},o.i=function(r,e,t,a,n){"string"==typeof r&&(r=[[null,r,void 0]]);var i={};if(t)for(var p=0;p<this.length;p++){var l=this[p][0];null!=l&&(i[l]=!0)}for(var s=0;s<r.length;s++){var j=[].concat(r[s]);t&&i[j[0]]||(void 0!==n&&(void 0===j[5]||(j[1]="@layer".concat(j[5].length>0?" ".concat(j[5]):""," {").concat(j[1],"}")),j[5]=n),e&&(j[2]&&(j[1]="@media ".concat(j[2]," {").concat(j[1],"}")),j[2]=e),a&&(j[4]?(j[1]="@supports (".concat(j[4],") {").concat(j[1],"}"),j[4]=a):j[4]="".concat(a)),o.push(j))}},o}},30(r){r.exports=function(r){return r[1]}},23(r){var o=[];function e(r){for(var e=-1,t=0;t<o.length;t++)if(o[t].identifier===r){e=t;break}return e}function t(r,t){for(var a={},n=[],i=0;i<r.length;i++){var p=r[i],l=t.base?p[0]+t.base:p[0],s=a[l]||0,j="".concat(l," ").concat(s);a[l]=s+1;var d=e(j),c={css:p[1],media:p[2],sourceMap:p[3],supports:p[4],layer:p[5]};if(-1!==d)o[d].references++,o[d].updater(c);else{var x=function(r,o){var e=o.domAPI(o);return e.update(r),function(o){o?(o.css!==r.css||o.media!==r.media||o.sourceMap!==r.sourceMap||o.supports!==r.supports||o.layer!==r.layer)&&e.update(r=o):e.remove()}}(c,t);t.byIndex=i,o.splice(i,0,{identifier:j,updater:x,references:1})}n.push(j)}return n}r.exports=function(r,a){var n=t(r=r||[],a=a||{});return function(r){r=r||[];for(var i=0;i<n.length;i++){var p=e(n[i]);o[p].references--}for(var l=t(r,a),s=0;s<n.length;s++){var j=e(n[s]);0===o[j].references&&(o[j].updater(),o.splice(j,1))}n=l}}},25(r){var o={};r.exports=function(r,e){var t=function(r){if(void 0===o[r]){var e=document.querySelector(r);if(window.HTMLIFrameElement&&e instanceof window.HTMLIFrameElement)try{e=e.contentDocument.head}catch(r){e=null}o[r]=e}return o[r]}(r);if(!t)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");t.appendChild(e)}},27(r){r.exports=function(r){var o=document.createElement("style");return r.setAttributes(o,r.attributes),r.insert(o,r.options),o}},26(r,o,e){r.exports=function(r){var o=e.nc;o&&r.setAttribute("nonce",o)}},24(r){r.exports=function(r){if("u"<typeof document)return{update:function(){},remove:function(){}};var o=r.insertStyleElement(r);return{update:function(e){var t,a,n;t="",e.supports&&(t+="@supports (".concat(e.supports,") {")),e.media&&(t+="@media ".concat(e.media," {")),(a=void 0!==e.layer)&&(t+="@layer".concat(e.layer.length>0?" ".concat(e.layer):""," {")),t+=e.css,a&&(t+="}"),e.media&&(t+="}"),e.supports&&(t+="}"),(n=e.sourceMap)&&"u">typeof btoa&&(t+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(n))))," */")),r.styleTagTransform(t,o,r.options)},remove:function(){var r;null===(r=o).parentNode||r.parentNode.removeChild(r)}}}},28(r){r.exports=function(r,o){if(o.styleSheet)o.styleSheet.cssText=r;else{for(;o.firstChild;)o.removeChild(o.firstChild);o.appendChild(document.createTextNode(r))}}},22(r,o,e){var t=e(23),a=e.n(t),n=e(24),i=e.n(n),p=e(25),l=e.n(p),s=e(26),j=e.n(s),d=e(27),c=e.n(d),x=e(28),f=e.n(x),u=e(29),k={};k.styleTagTransform=f(),k.setAttributes=j(),k.insert=l().bind(null,"head"),k.domAPI=i(),k.insertStyleElement=c(),a()(u.A,k),u.A&&u.A.locals&&u.A.locals;var v=e(32),m={};m.styleTagTransform=f(),m.setAttributes=j(),m.insert=l().bind(null,"head"),m.domAPI=i(),m.insertStyleElement=c(),a()(v.A,m),v.A&&v.A.locals&&v.A.locals;var b=e(33),h={};h.styleTagTransform=f(),h.setAttributes=j(),h.insert=l().bind(null,"head"),h.domAPI=i(),h.insertStyleElement=c(),a()(b.A,h),b.A&&b.A.locals&&b.A.locals;var g=e(34),y={};y.styleTagTransform=f(),y.setAttributes=j(),y.insert=l().bind(null,"head"),y.domAPI=i(),y.insertStyleElement=c(),a()(g.A,y),g.A&&g.A.locals&&g.A.locals}}]);