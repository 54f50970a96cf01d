"use strict";(self.rspackChunkjxkernel=self.rspackChunkjxkernel||[]).push([[1],{24(r,e,o){var t=o(25),n=o.n(t),a=o(26),i=(o.n(a))()(n());i.push([r.id,`/* What all features share. Colours are JupyterLab's variables, so that every theme fits. */

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
`,""]),o.d(e,{},{A:i})},27(r,e,o){var t=o(25),n=o.n(t),a=o(26),i=(o.n(a))()(n());i.push([r.id,`/* The right panel. */

.jp-jxk-Panel {
  display: flex;
  flex-direction: column;
  min-width: 300px;
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

.jp-jxk-Panel .jp-jxk-empty {
  padding: 8px 0;
  color: var(--jp-ui-font-color1);
}

.jp-jxk-Panel > .jp-jxk-empty {
  padding: 12px;
}

.jp-jxk-head {
  display: flex;
  align-items: center;
  gap: 4px;
  padding: 6px 8px 4px 12px;
}

.jp-jxk-device {
  flex: 1;
  overflow: hidden;
  font-weight: 600;
  text-overflow: ellipsis;
  white-space: nowrap;
}

.jp-jxk-tabs {
  display: flex;
  padding: 0 8px;
  border-bottom: var(--jp-border-width) solid var(--jp-border-color1);
}

.jp-jxk-tabs button {
  flex: 1 1 auto;
  padding: 5px 4px;
  border: 0;
  border-bottom: 3px solid transparent;
  color: var(--jp-ui-font-color1);
  background: none;
  font: inherit;
  cursor: pointer;
}

.jp-jxk-tabs button:hover {
  background: var(--jp-layout-color2);
}

.jp-jxk-tabs button[aria-selected='true'] {
  border-bottom-color: var(--jp-brand-color1);
  font-weight: 600;
}

.jp-jxk-Panel .jp-jxk-filter,
.jp-jxk-form select,
.jp-jxk-form input[type='number'] {
  box-sizing: border-box;
  height: 26px;
  padding: 2px 6px;
  border: var(--jp-border-width) solid var(--jp-border-color0);
  border-radius: var(--jp-border-radius);
  color: var(--jp-ui-font-color1);
  background: var(--jp-layout-color1);
  font: inherit;
}

.jp-jxk-Panel .jp-jxk-filter {
  margin: 8px 12px 0;
}

.jp-jxk-Panel .jp-jxk-filter::placeholder {
  color: var(--jp-ui-font-color2);
}

.jp-jxk-content {
  flex: 1;
  overflow: auto;
  padding: 4px 12px 16px;
}

.jp-jxk-summary {
  font-weight: 600;
}

.jp-jxk-Panel .jp-jxk-dim {
  color: var(--jp-ui-font-color2);
}

.jp-jxk-Panel code,
.jp-jxk-type {
  padding: 0;
  color: inherit;
  background: none;
  font-family: var(--jp-code-font-family);
  font-size: var(--jp-code-font-size);
}

.jp-jxk-list,
.jp-jxk-inner {
  margin: 0;
  padding: 0;
  list-style: none;
}

.jp-jxk-list > li {
  padding: 7px 0;
  border-bottom: var(--jp-border-width) solid var(--jp-border-color2);
  overflow-wrap: anywhere;
}

.jp-jxk-list > li:last-child {
  border-bottom: 0;
}

.jp-jxk-inner > li {
  padding-inline-start: 14px;
}

.jp-jxk-row {
  display: flex;
  align-items: center;
  flex-wrap: wrap;
  gap: 2px 8px;
}

.jp-jxk-name {
  font-weight: 600;
}

.jp-jxk-cost {
  margin-inline-start: auto;
  font-variant-numeric: tabular-nums;
  white-space: nowrap;
}

.jp-jxk-held {
  flex: 1;
}

.jp-jxk-badge {
  padding: 0 6px;
  border: var(--jp-border-width) solid var(--jp-border-color0);
  border-radius: 8px;
  font-size: var(--jp-ui-font-size0);
}

.jp-mod-again .jp-jxk-badge,
.jp-jxk-badge.jp-mod-slow,
.jp-jxk-badge.jp-mod-chosen {
  border-color: currentcolor;
  font-weight: 600;
}

.jp-jxk-link {
  padding: 0;
  border: 0;
  color: var(--jp-content-link-color);
  background: none;
  font: inherit;
  text-align: start;
  text-decoration: underline;
  cursor: pointer;
}

.jp-jxk-fix {
  padding-inline-start: 8px;
  border-inline-start: 3px solid var(--jp-success-color1);
}

.jp-jxk-Panel .jp-jxk-failed {
  padding-inline-start: 8px;
  border-inline-start: 3px solid var(--jp-error-color1);
  white-space: pre-line;
}

.jp-jxk-outcome {
  padding-inline-start: 8px;
  border-inline-start: 3px solid var(--jp-success-color1);
  white-space: pre-line;
}

.jp-jxk-warning {
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

.jp-jxk-table {
  width: 100%;
  margin: 2px 0 4px;
  border-collapse: collapse;
  font-variant-numeric: tabular-nums;
}

.jp-jxk-table th,
.jp-jxk-table td {
  padding: 2px 4px;
  text-align: end;
  font-weight: normal;
  white-space: nowrap;
}

.jp-jxk-table th:first-child {
  width: 40%;
  text-align: start;
  white-space: normal;
  overflow-wrap: anywhere;
}

.jp-jxk-table thead th {
  color: var(--jp-ui-font-color2);
  font-size: var(--jp-ui-font-size0);
}

.jp-jxk-amount {
  display: inline-flex;
  align-items: center;
  justify-content: flex-end;
  gap: 6px;
}

.jp-jxk-figure {
  min-width: 4.6em;
}

.jp-jxk-bar {
  flex: none;
  display: inline-block;
  width: 44px;
  height: 6px;
  border-radius: 3px;
  background: var(--jp-layout-color3);
  overflow: hidden;
}

.jp-jxk-bar > span {
  display: block;
  height: 100%;
  background: var(--jp-brand-color1);
}

.jp-jxk-panelButton {
  padding: 2px 8px;
  border: var(--jp-border-width) solid var(--jp-border-color0);
  border-radius: var(--jp-border-radius);
  color: var(--jp-ui-font-color1);
  background: var(--jp-layout-color1);
  font: inherit;
  font-size: var(--jp-ui-font-size0);
  line-height: 18px;
  cursor: pointer;
}

.jp-jxk-panelButton:hover:enabled {
  background: var(--jp-layout-color2);
}

.jp-jxk-panelButton.jp-mod-main {
  border-color: var(--jp-brand-color1);
  border-width: 2px;
  font-weight: 600;
}

.jp-jxk-panelButton:disabled {
  color: var(--jp-ui-font-color2);
  border-style: dashed;
  cursor: default;
}

.jp-jxk-iconButton {
  display: inline-flex;
  padding: 3px;
  border: 0;
  border-radius: var(--jp-border-radius);
  background: none;
  cursor: pointer;
}

.jp-jxk-iconButton:hover {
  background: var(--jp-layout-color2);
}

.jp-jxk-iconButton span {
  display: inline-flex;
  width: 16px;
}

.jp-jxk-unseen {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
}

.jp-jxk-check {
  display: flex;
  align-items: center;
  gap: 6px;
  margin: 2px 0;
}

.jp-jxk-check input {
  margin: 0;
}

.jp-jxk-form {
  display: flex;
  flex-direction: column;
  gap: 6px;
  padding-top: 6px;
}

.jp-jxk-form > label:not(.jp-jxk-check) {
  display: grid;
  grid-template-columns: 7.5em 1fr;
  align-items: center;
  gap: 8px;
}

.jp-jxk-form select,
.jp-jxk-form input[type='number'] {
  width: 100%;
}

.jp-jxk-preview {
  margin-top: 4px;
  padding: 8px;
  border: var(--jp-border-width) solid var(--jp-brand-color1);
  border-radius: var(--jp-border-radius);
}

.jp-jxk-preview ul {
  margin: 4px 0;
  padding-inline-start: 18px;
}

.jp-jxk-preview .jp-mod-old {
  opacity: 0.6;
}

.jp-jxk-buttons {
  display: flex;
  justify-content: flex-end;
  gap: 8px;
  margin-top: 6px;
}

.jp-jxk-platform {
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

.jp-Cell.jp-jxk-lit {
  outline: 2px solid var(--jp-brand-color1);
  outline-offset: -2px;
}
`,""]),o.d(e,{},{A:i})},26(r){r.exports=function(r){var e=[];return e.toString=function(){return this.map(function(e){var o="",t=void 0!==e[5];return e[4]&&(o+="@supports (".concat(e[4],") {")),e[2]&&(o+="@media ".concat(e[2]," {")),t&&(o+="@layer".concat(e[5].length>0?" ".concat(e[5]):""," {")),o+=r(e),t&&(o+="}"),e[2]&&(o+="}"),e[4]&&(o+="}"),o}).join("")},e.i=function(r,o,t,n,a){"string"==typeof r&&(r=[[null,r,void 0]]);var i={};if(t)for(var p=0;p<this.length;p++){var l=this[p][0];null!=l&&(i[l]=!0)}for(var d=0;d<r.length;d++){var s=[].concat(r[d]);t&&i[s[0]]||(void 0!==a&&(void 0===s[5]||(s[1]="@layer".concat(s[5].length>0?" ".concat(s[5]):""," {").concat(s[1],"}")),s[5]=a),o&&(s[2]&&(s[1]="@media ".concat(s[2]," {").concat(s[1],"}")),s[2]=o),n&&(s[4]?(s[1]="@supports (".concat(s[4],") {").concat(s[1],"}"),s[4]=n):s[4]="".concat(n)),e.push(s))}},e}},25(r){r.exports=function(r){return r[1]}},18(r){var e=[];function o(r){for(var o=-1,t=0;t<e.length;t++)if(e[t].identifier===r){o=t;break}return o}function t(r,t){for(var n={},a=[],i=0;i<r.length;i++){var p=r[i],l=t.base?p[0]+t.base:p[0],d=n[l]||0,s="".concat(l," ").concat(d);n[l]=d+1;var j=o(s),c={css:p[1],media:p[2],sourceMap:p[3],supports:p[4],layer:p[5]};if(-1!==j)e[j].references++,e[j].updater(c);else{var x=function(r,e){var o=e.domAPI(e);return o.update(r),function(e){e?(e.css!==r.css||e.media!==r.media||e.sourceMap!==r.sourceMap||e.supports!==r.supports||e.layer!==r.layer)&&o.update(r=e):o.remove()}}(c,t);t.byIndex=i,e.splice(i,0,{identifier:s,updater:x,references:1})}a.push(s)}return a}r.exports=function(r,n){var a=t(r=r||[],n=n||{});return function(r){r=r||[];for(var i=0;i<a.length;i++){var p=o(a[i]);e[p].references--}for(var l=t(r,n),d=0;d<a.length;d++){var s=o(a[d]);0===e[s].references&&(e[s].updater(),e.splice(s,1))}a=l}}},20(r){var e={};r.exports=function(r,o){var t=function(r){if(void 0===e[r]){var o=document.querySelector(r);if(window.HTMLIFrameElement&&o instanceof window.HTMLIFrameElement)try{o=o.contentDocument.head}catch(r){o=null}e[r]=o}return e[r]}(r);if(!t)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");t.appendChild(o)}},22(r){r.exports=function(r){var e=document.createElement("style");return r.setAttributes(e,r.attributes),r.insert(e,r.options),e}},21(r,e,o){r.exports=function(r){var e=o.nc;e&&r.setAttribute("nonce",e)}},19(r){r.exports=function(r){if("u"<typeof document)return{update:function(){},remove:function(){}};var e=r.insertStyleElement(r);return{update:function(o){var t,n,a;t="",o.supports&&(t+="@supports (".concat(o.supports,") {")),o.media&&(t+="@media ".concat(o.media," {")),(n=void 0!==o.layer)&&(t+="@layer".concat(o.layer.length>0?" ".concat(o.layer):""," {")),t+=o.css,n&&(t+="}"),o.media&&(t+="}"),o.supports&&(t+="}"),(a=o.sourceMap)&&"u">typeof btoa&&(t+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(a))))," */")),r.styleTagTransform(t,e,r.options)},remove:function(){var r;null===(r=e).parentNode||r.parentNode.removeChild(r)}}}},23(r){r.exports=function(r,e){if(e.styleSheet)e.styleSheet.cssText=r;else{for(;e.firstChild;)e.removeChild(e.firstChild);e.appendChild(document.createTextNode(r))}}},17(r,e,o){var t=o(18),n=o.n(t),a=o(19),i=o.n(a),p=o(20),l=o.n(p),d=o(21),s=o.n(d),j=o(22),c=o.n(j),x=o(23),u=o.n(x),f=o(24),b={};b.styleTagTransform=u(),b.setAttributes=s(),b.insert=l().bind(null,"head"),b.domAPI=i(),b.insertStyleElement=c(),n()(f.A,b),f.A&&f.A.locals&&f.A.locals;var v=o(27),h={};h.styleTagTransform=u(),h.setAttributes=s(),h.insert=l().bind(null,"head"),h.domAPI=i(),h.insertStyleElement=c(),n()(v.A,h),v.A&&v.A.locals&&v.A.locals}}]);