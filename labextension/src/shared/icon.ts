/**
 * The panel's icon: a small graph of three nodes, as programs are.
 */

import { LabIcon } from '@jupyterlab/ui-components';

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <g class="jp-icon3" fill="#616161">
    <path d="M6.4 6.9 12.3 16l-1.5 1L4.9 7.9zM16.1 6.9l1.6 1-5.9 9.1-1.5-1z"/>
    <path d="M10.6 16h1.8v5h-1.8z"/>
    <circle cx="5.5" cy="6" r="3.2"/>
    <circle cx="17.5" cy="6" r="3.2"/>
    <rect x="8" y="13" width="7" height="6" rx="1.6"/>
  </g>
</svg>`;

export const jxIcon = new LabIcon({ name: 'jxkernel:icon', svgstr: SVG });
