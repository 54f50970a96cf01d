"use strict";(self.rspackChunkjxkernel=self.rspackChunkjxkernel||[]).push([[1],{23(e,t,r){var o=r(24),n=r.n(o),a=r(25),i=(r.n(a))()(n());i.push([e.id,`/* What all features share. Colours are JupyterLab's variables, so that every theme fits. */

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
`,""]),r.d(t,{},{A:i})},26(e,t,r){var o=r(24),n=r.n(o),a=r(25),i=(r.n(a))()(n());i.push([e.id,`/* Marks in editors: a letter below, and an underline of a shape of its own; colour repeats it. */

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
`,""]),r.d(t,{},{A:i})},25(e){e.exports=function(e){var t=[];return t.toString=function(){return this.map(function(t){var r="",o=void 0!==t[5];return t[4]&&(r+="@supports (".concat(t[4],") {")),t[2]&&(r+="@media ".concat(t[2]," {")),o&&(r+="@layer".concat(t[5].length>0?" ".concat(t[5]):""," {")),r+=e(t),o&&(r+="}"),t[2]&&(r+="}"),t[4]&&(r+="}"),r}).join("")},t.i=function(e,r,o,n,a){"string"==typeof e&&(e=[[null,e,void 0]]);var i={};if(o)for(var p=0;p<this.length;p++){var s=this[p][0];null!=s&&(i[s]=!0)}for(var c=0;c<e.length;c++){var l=[].concat(e[c]);o&&i[l[0]]||(void 0!==a&&(void 0===l[5]||(l[1]="@layer".concat(l[5].length>0?" ".concat(l[5]):""," {").concat(l[1],"}")),l[5]=a),r&&(l[2]&&(l[1]="@media ".concat(l[2]," {").concat(l[1],"}")),l[2]=r),n&&(l[4]?(l[1]="@supports (".concat(l[4],") {").concat(l[1],"}"),l[4]=n):l[4]="".concat(n)),t.push(l))}},t}},24(e){e.exports=function(e){return e[1]}},17(e){var t=[];function r(e){for(var r=-1,o=0;o<t.length;o++)if(t[o].identifier===e){r=o;break}return r}function o(e,o){for(var n={},a=[],i=0;i<e.length;i++){var p=e[i],s=o.base?p[0]+o.base:p[0],c=n[s]||0,l="".concat(s," ").concat(c);n[s]=c+1;var d=r(l),j={css:p[1],media:p[2],sourceMap:p[3],supports:p[4],layer:p[5]};if(-1!==d)t[d].references++,t[d].updater(j);else{var u=function(e,t){var r=t.domAPI(t);return r.update(e),function(t){t?(t.css!==e.css||t.media!==e.media||t.sourceMap!==e.sourceMap||t.supports!==e.supports||t.layer!==e.layer)&&r.update(e=t):r.remove()}}(j,o);o.byIndex=i,t.splice(i,0,{identifier:l,updater:u,references:1})}a.push(l)}return a}e.exports=function(e,n){var a=o(e=e||[],n=n||{});return function(e){e=e||[];for(var i=0;i<a.length;i++){var p=r(a[i]);t[p].references--}for(var s=o(e,n),c=0;c<a.length;c++){var l=r(a[c]);0===t[l].references&&(t[l].updater(),t.splice(l,1))}a=s}}},19(e){var t={};e.exports=function(e,r){var o=function(e){if(void 0===t[e]){var r=document.querySelector(e);if(window.HTMLIFrameElement&&r instanceof window.HTMLIFrameElement)try{r=r.contentDocument.head}catch(e){r=null}t[e]=r}return t[e]}(e);if(!o)throw Error("Couldn't find a style target. This probably means that the value for the 'insert' parameter is invalid.");o.appendChild(r)}},21(e){e.exports=function(e){var t=document.createElement("style");return e.setAttributes(t,e.attributes),e.insert(t,e.options),t}},20(e,t,r){e.exports=function(e){var t=r.nc;t&&e.setAttribute("nonce",t)}},18(e){e.exports=function(e){if("u"<typeof document)return{update:function(){},remove:function(){}};var t=e.insertStyleElement(e);return{update:function(r){var o,n,a;o="",r.supports&&(o+="@supports (".concat(r.supports,") {")),r.media&&(o+="@media ".concat(r.media," {")),(n=void 0!==r.layer)&&(o+="@layer".concat(r.layer.length>0?" ".concat(r.layer):""," {")),o+=r.css,n&&(o+="}"),r.media&&(o+="}"),r.supports&&(o+="}"),(a=r.sourceMap)&&"u">typeof btoa&&(o+="\n/*# sourceMappingURL=data:application/json;base64,".concat(btoa(unescape(encodeURIComponent(JSON.stringify(a))))," */")),e.styleTagTransform(o,t,e.options)},remove:function(){var e;null===(e=t).parentNode||e.parentNode.removeChild(e)}}}},22(e){e.exports=function(e,t){if(t.styleSheet)t.styleSheet.cssText=e;else{for(;t.firstChild;)t.removeChild(t.firstChild);t.appendChild(document.createTextNode(e))}}},16(e,t,r){var o=r(17),n=r.n(o),a=r(18),i=r.n(a),p=r(19),s=r.n(p),c=r(20),l=r.n(c),d=r(21),j=r.n(d),u=r(22),f=r.n(u),x=r(23),v={};v.styleTagTransform=f(),v.setAttributes=l(),v.insert=s().bind(null,"head"),v.domAPI=i(),v.insertStyleElement=j(),n()(x.A,v),x.A&&x.A.locals&&x.A.locals;var k=r(26),m={};m.styleTagTransform=f(),m.setAttributes=l(),m.insert=s().bind(null,"head"),m.domAPI=i(),m.insertStyleElement=j(),n()(k.A,m),k.A&&k.A.locals&&k.A.locals}}]);