/**
 * The marks in an editor: CodeMirror's part.
 */

import type { EditorState, Extension, Range, Text, Transaction } from '@codemirror/state';
import { Prec, StateEffect, StateField } from '@codemirror/state';
import type { DecorationSet, Tooltip, ViewUpdate } from '@codemirror/view';
import {
  Decoration,
  EditorView,
  hoverTooltip,
  keymap,
  showTooltip,
  tooltips,
  ViewPlugin
} from '@codemirror/view';
import type { ISignal } from '@lumino/signaling';

import type { IMarkedSource, IPlacedMark, IPlacement } from './marks.ts';
import { afterEdit, marksAt, place } from './marks.ts';
import type { IPlace, LineCosts } from '../tokens';
import type { IExplanation } from './explaining.ts';
import { explained, spoken } from './explaining.ts';

/** What an editor shows marks of. */
export interface IMarkedCell {
  readonly sources: readonly IMarkedSource[];
  readonly isOn: boolean;
  /** The line of the user's code that is lit up. */
  readonly lit: IPlace | null;
  /** What lines cost; null where that is not to be shown. */
  readonly costs: LineCosts | null;
  readonly changed: ISignal<unknown, void>;
  /** Lights up a line. */
  light(place: IPlace): void;
}

type Followed = Pick<IMarkedCell, 'sources' | 'isOn' | 'lit' | 'costs'>;

interface IShown extends Followed {
  readonly placement: IPlacement;
  /** Whether the text was edited since the marks were placed: what is drawn moves along with it. */
  readonly isBehind: boolean;
  /** Names, and below them, in the order of nesting, side effects. */
  readonly names: DecorationSet;
  readonly effects: DecorationSet;
}

const follow = StateEffect.define<Followed>();
const explainAt = StateEffect.define<number | null>();
const NOTHING: IPlacement = { marks: [], edited: 0, lines: new Map() };
/** Marks are placed anew when nothing was typed for so long. */
const PAUSE_MS = 300;
const OFF: Followed = { sources: [], isOn: false, lit: null, costs: null };

const shownMarks = StateField.define<IShown>({
  create: () => shown(OFF, ''),
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(follow)) {
        return shown(effect.value, transaction.newDoc.toString());
      }
    }
    return transaction.docChanged && value.sources.length ? moved(value, transaction) : value;
  },
  provide: field => [
    EditorView.decorations.from(field, value => value.names),
    Prec.lowest(EditorView.decorations.from(field, value => value.effects)),
    EditorView.editorAttributes.from(field, value =>
      value.isOn && value.placement.marks.length ? { class: 'jp-jxk-marked' } : { class: '' }
    )
  ]
});

function shown({ sources, isOn, lit, costs }: Followed, text: string): IShown {
  const placement = sources.length ? place(sources, text) : NOTHING;
  const drawn = isOn ? placement.marks.filter(one => one.isDrawn) : [];
  const lines = lineStarts(drawn, text).map(at => LINE.range(at));
  const names = drawn.filter(one => one.mark.isName).map(decorated);
  const effects = drawn.filter(one => !one.mark.isName).map(decorated);
  const costLines = costs ? costed(placement, costs, text) : [];
  const litLines = litStarts(placement, lit, text).map(at => LIT.range(at));
  return {
    sources,
    isOn,
    lit,
    costs,
    placement,
    isBehind: false,
    names: Decoration.set([...lines, ...litLines, ...costLines, ...names], true),
    effects: Decoration.set(effects, true)
  };
}

/** The marks where an edit has moved them: only those in lines that it touched are looked at. */
function moved(before: IShown, { changes, newDoc }: Transaction): IShown {
  let names = before.names.map(changes);
  let effects = before.effects.map(changes);
  changes.iterChangedRanges((_from, _to, from, to) => {
    names = edited(names, newDoc, from, to);
    effects = edited(effects, newDoc, from, to);
  });
  return { ...before, isBehind: true, names, effects };
}

function edited(marks: DecorationSet, doc: Text, from: number, to: number): DecorationSet {
  const again: Range<Decoration>[] = [];
  const others = marks.update({
    filterFrom: doc.lineAt(from).from,
    filterTo: doc.lineAt(to).to,
    filter: (start, end, decoration) => {
      const { placed } = decoration.spec as { placed?: IPlacedMark };
      if (!placed) {
        return true; // of a line
      }
      const first = doc.lineAt(start).from;
      const lines = doc.sliceString(first, doc.lineAt(end).to);
      const now = afterEdit({ ...placed, from: start, to: end }, lines, first);
      if (now?.isStale === placed.isStale) {
        return true;
      }
      if (now) {
        again.push(decorated(now));
      }
      return false;
    }
  });
  return again.length ? others.update({ add: again, sort: true }) : others;
}

/** Where the line begins that is lit up. */
function litStarts(placement: IPlacement, lit: IPlace | null, text: string): number[] {
  const lines = lit && placement.lines.get(lit.file);
  const index = lines ? lines.indices[lit.line - lines.first] : null;
  if (index === null || index === undefined) {
    return [];
  }
  const before = text.split('\n').slice(0, index);
  return [before.reduce((sum, line) => sum + line.length + 1, 0)];
}

/** The lines that cost something, each with what, and how hot it is. */
function costed(placement: IPlacement, costs: LineCosts, text: string): Range<Decoration>[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    starts.push(at + 1);
  }
  const found = new Map<number, Range<Decoration>>();
  for (const [file, lines] of placement.lines) {
    lines.indices.forEach((index, place) => {
      const cost = costs.get(`${file}:${lines.first + place}`);
      const start = index === null ? undefined : starts[index];
      if (cost?.text && start !== undefined) {
        const attributes = {
          'data-jxk-cost': cost.text,
          style: `--jp-jxk-heat: ${Math.round(cost.heat * 100)}%`
        };
        found.set(start, Decoration.line({ class: 'jp-jxk-costLine', attributes }).range(start));
      }
    });
  }
  return [...found.values()];
}

const LIT = Decoration.line({ class: 'jp-jxk-litLine' });
const LINE = Decoration.line({ class: 'jp-jxk-markedLine' });

function decorated(placed: IPlacedMark): Range<Decoration> {
  const kind = `jp-jxk-mark jp-jxk-${placed.mark.kind}${placed.isStale ? ' jp-jxk-stale' : ''}`;
  const attributes = { 'data-jxk': placed.label };
  return Decoration.mark({ class: kind, attributes, placed }).range(placed.from, placed.to);
}

/** Where the lines begin that marks are drawn in. */
function lineStarts(marks: readonly IPlacedMark[], text: string): number[] {
  return [...new Set(marks.map(one => text.lastIndexOf('\n', one.from - 1) + 1))];
}

/** The tooltip that a keystroke opened. */
const asked = StateField.define<Tooltip | null>({
  create: () => null,
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(explainAt)) {
        return effect.value === null ? null : tooltipAt(transaction.state, effect.value);
      }
    }
    return transaction.docChanged || transaction.selection ? null : value;
  },
  provide: field => showTooltip.from(field)
});

function explanationsAt(state: EditorState, position: number): readonly IPlacedMark[] {
  const { isOn } = state.field(shownMarks);
  return isOn ? marksAt(placementOf(state).marks, position).slice(0, 3) : [];
}

/** Where the marks stand in the text as it is, whether they are drawn there yet or not. */
function placementOf(state: EditorState): IPlacement {
  const { isBehind, sources, placement } = state.field(shownMarks);
  return isBehind ? place(sources, state.doc.toString()) : placement;
}

function tooltipAt(state: EditorState, position: number): Tooltip | null {
  const marks = explanationsAt(state, position);
  const [first] = marks;
  if (!first) {
    return null;
  }
  return {
    pos: first.from,
    end: first.to,
    above: true,
    create: () => ({ dom: drawnExplanation(marks.map(explained)) })
  };
}

function drawnExplanation(explanations: readonly IExplanation[]): HTMLElement {
  const box = document.createElement('div');
  box.className = 'jp-jxk-why';
  box.setAttribute('role', 'tooltip');
  for (const one of explanations) {
    const part = box.appendChild(document.createElement('div'));
    part.className = `jp-jxk-whyOne jp-jxk-${one.kind}`;
    const head = part.appendChild(document.createElement('div'));
    for (const [tag, text] of [
      ['b', one.letter],
      ['code', one.code],
      ['span', one.what]
    ] as const) {
      head.appendChild(document.createElement(tag)).textContent = text;
      head.append(' ');
    }
    for (const line of one.lines) {
      part.appendChild(document.createElement('div')).textContent = line;
    }
  }
  return box;
}

/**
 * Explains what is marked where the cursor stands, in a tooltip and to a screen reader.
 *
 * @returns whether anything is marked there.
 */
export function explainAtCursor(view: EditorView): boolean {
  const { state } = view;
  const position = state.selection.main.head;
  const marks = state.field(shownMarks, false) ? explanationsAt(state, position) : [];
  if (!marks.length) {
    return false;
  }
  const text = marks.map(one => spoken(explained(one))).join('\n');
  view.dispatch({ effects: [explainAt.of(position), EditorView.announce.of(text)] });
  return true;
}

function close(view: EditorView): boolean {
  if (!view.state.field(asked, false)) {
    return false;
  }
  view.dispatch({ effects: explainAt.of(null) });
  return true;
}

/** Tells an editor of new sources as long as it is there. */
class Follower {
  constructor(
    private readonly _view: EditorView,
    private readonly _cell: IMarkedCell
  ) {
    _cell.changed.connect(this._onChanged, this);
  }

  destroy(): void {
    this._cell.changed.disconnect(this._onChanged, this);
    window.clearTimeout(this._timer);
  }

  update(update: ViewUpdate): void {
    if (update.docChanged && update.state.field(shownMarks).isBehind) {
      window.clearTimeout(this._timer);
      this._timer = window.setTimeout(() => this._follow(), PAUSE_MS);
    }
    this._light(update);
  }

  /** Lights up the line that the cursor was put in. */
  private _light(update: ViewUpdate): void {
    if (!update.selectionSet || update.docChanged || !update.view.hasFocus) {
      return;
    }
    const { state } = update;
    const index = state.doc.lineAt(state.selection.main.head).number - 1;
    for (const [file, lines] of placementOf(state).lines) {
      const at = lines.indices.indexOf(index);
      if (at >= 0) {
        // Not within an update: the other editors and this one are told.
        window.setTimeout(() => this._cell.light({ file, line: lines.first + at }));
        return;
      }
    }
  }

  private _onChanged(): void {
    const { sources, isOn, lit, costs } = this._cell;
    const now = this._view.state.field(shownMarks);
    const isLit = (one: IPlace | null): boolean => sources.some(source => source.file === one?.file);
    const isRelit = lit !== now.lit && (isLit(lit) || isLit(now.lit));
    if (now.sources !== sources || now.isOn !== isOn || now.costs !== costs || isRelit) {
      this._follow();
    }
  }

  /** Places the marks anew. */
  private _follow(): void {
    const { sources, isOn, lit, costs } = this._cell;
    this._view.dispatch({ effects: follow.of({ sources, isOn, lit, costs }) });
  }

  private _timer = 0;
}

/** The extension of a cell's editor. */
export function marksOf(cell: IMarkedCell): Extension {
  return [
    shownMarks.init(state => shown(cell, state.doc.toString())),
    asked,
    ViewPlugin.define(view => new Follower(view, cell)),
    hoverTooltip((view, position) => tooltipAt(view.state, position), { hideOnChange: true }),
    tooltips({ parent: document.body }),
    Prec.high(keymap.of([{ key: 'Escape', run: close }]))
  ];
}
