/**
 * The marks in an editor: CodeMirror's part.
 */

import type { EditorState, Extension, Range } from '@codemirror/state';
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

import type { IMarkedSource, IPlacedMark, IPlacement } from '../shared/marks.ts';
import { marksAt, place } from '../shared/marks.ts';
import type { IPlace } from '../tokens';
import type { IExplanation } from '../shared/explaining.ts';
import { explained, spoken } from '../shared/explaining.ts';

/** What an editor shows marks of. */
export interface IMarkedCell {
  readonly sources: readonly IMarkedSource[];
  readonly isOn: boolean;
  /** The line of the user's code that is lit up. */
  readonly lit: IPlace | null;
  readonly changed: ISignal<unknown, void>;
  /** Lights up a line. */
  light(place: IPlace): void;
}

type Followed = Pick<IMarkedCell, 'sources' | 'isOn' | 'lit'>;

interface IShown extends Followed {
  readonly placement: IPlacement;
  /** Names, and below them, in the order of nesting, side effects. */
  readonly names: DecorationSet;
  readonly effects: DecorationSet;
}

const follow = StateEffect.define<Followed>();
const explainAt = StateEffect.define<number | null>();
const NOTHING: IPlacement = { marks: [], edited: 0, lines: new Map() };
const OFF: Followed = { sources: [], isOn: false, lit: null };

const shownMarks = StateField.define<IShown>({
  create: () => shown(OFF, ''),
  update(value, transaction) {
    let followed: Followed = value;
    let isNew = transaction.docChanged && value.sources.length > 0;
    for (const effect of transaction.effects) {
      if (effect.is(follow)) {
        followed = effect.value;
        isNew = true;
      }
    }
    return isNew ? shown(followed, transaction.newDoc.toString()) : value;
  },
  provide: field => [
    EditorView.decorations.from(field, value => value.names),
    Prec.lowest(EditorView.decorations.from(field, value => value.effects)),
    EditorView.editorAttributes.from(field, value =>
      value.isOn && value.placement.marks.length ? { class: 'jp-jxk-marked' } : { class: '' }
    )
  ]
});

function shown({ sources, isOn, lit }: Followed, text: string): IShown {
  const placement = sources.length ? place(sources, text) : NOTHING;
  const drawn = isOn ? placement.marks.filter(one => one.isDrawn) : [];
  const lines = lineStarts(drawn, text).map(at => LINE.range(at));
  const names = drawn.filter(one => one.mark.isName).map(decorated);
  const effects = drawn.filter(one => !one.mark.isName).map(decorated);
  const litLines = litStarts(placement, lit, text).map(at => LIT.range(at));
  return {
    sources,
    isOn,
    lit,
    placement,
    names: Decoration.set([...lines, ...litLines, ...names], true),
    effects: Decoration.set(effects, true)
  };
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

const LIT = Decoration.line({ class: 'jp-jxk-litLine' });
const LINE = Decoration.line({ class: 'jp-jxk-markedLine' });
const decorations = new Map<string, Decoration>();

function decorated(one: IPlacedMark): Range<Decoration> {
  const kind = `jp-jxk-mark jp-jxk-${one.mark.kind}${one.isStale ? ' jp-jxk-stale' : ''}`;
  const key = `${kind}|${one.label}`;
  let decoration = decorations.get(key);
  if (!decoration) {
    decoration = Decoration.mark({ class: kind, attributes: { 'data-jxk': one.label } });
    if (decorations.size < 1_000) {
      decorations.set(key, decoration);
    }
  }
  return decoration.range(one.from, one.to);
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
  const { isOn, placement } = state.field(shownMarks);
  return isOn ? marksAt(placement.marks, position).slice(0, 3) : [];
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
  }

  /** Lights up the line that the cursor was put in. */
  update(update: ViewUpdate): void {
    if (!update.selectionSet || update.docChanged || !update.view.hasFocus) {
      return;
    }
    const { state } = update;
    const index = state.doc.lineAt(state.selection.main.head).number - 1;
    for (const [file, lines] of state.field(shownMarks).placement.lines) {
      const at = lines.indices.indexOf(index);
      if (at >= 0) {
        // Not within an update: the other editors and this one are told.
        window.setTimeout(() => this._cell.light({ file, line: lines.first + at }));
        return;
      }
    }
  }

  private _onChanged(): void {
    const { sources, isOn, lit } = this._cell;
    const now = this._view.state.field(shownMarks);
    const isLit = (one: IPlace | null): boolean => sources.some(source => source.file === one?.file);
    const isRelit = lit !== now.lit && (isLit(lit) || isLit(now.lit));
    if (now.sources !== sources || now.isOn !== isOn || isRelit) {
      this._view.dispatch({ effects: follow.of({ sources, isOn, lit }) });
    }
  }
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
