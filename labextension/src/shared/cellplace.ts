/**
 * The cells that texts of the kernel name.
 */

/** A cell that a text names, and the line in it. */
export interface ICellPlace {
  readonly label: string;
  readonly number: number;
  /** From 1; 0 where none is named. */
  readonly line: number;
}

/** Finds the cell that `In[3]` or `Cell In[3], line 2` names; null where it is a file. */
export function cellPlace(text: string | null): ICellPlace | null {
  const found = /^(?:Cell )?(In\[(\d+)\])(?:, line (\d+))?/.exec(text ?? '');
  if (!found) {
    return null;
  }
  return { label: found[1] ?? '', number: Number(found[2]), line: Number(found[3] ?? 0) };
}

/** `Cell In[3], line 2` without what goes without saying. */
export function shortPlace(text: string): string {
  const cell = cellPlace(text);
  if (cell) {
    return cell.line ? `${cell.label}:${cell.line}` : cell.label;
  }
  return text.split(/[\\/]/).slice(-2).join('/');
}
