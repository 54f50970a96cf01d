/**
 * The settings as values.
 */

/** What `schema/plugin.json` lists. */
export interface IPreferenceValues {
  /** Whether editors of cells are marked. */
  readonly marks: boolean;
  /** How large their letters are, in pixels. */
  readonly markSize: number;
  /** Whether there is a status item. */
  readonly statusItem: boolean;
  /** Seconds between two refreshes of the panel; 0 for none but by its button. */
  readonly panelRefresh: number;
  /** From how many avoidable builds on a function is warned of; 0 for never. */
  readonly stormBuilds: number;
  /** From how many seconds on a build is pointed out. */
  readonly slowBuild: number;
  /** Arrays of fewer kilobytes are folded into one line. */
  readonly smallArray: number;
}

/** The values where nothing is set. */
export const DEFAULTS: IPreferenceValues = {
  marks: true,
  markSize: 8,
  statusItem: true,
  panelRefresh: 1,
  stormBuilds: 5,
  slowBuild: 1,
  smallArray: 1
};

/** Reads settings; those that are missing or of another type are as where nothing is set. */
export function valuesOf(settings: Readonly<Record<string, unknown>>): IPreferenceValues {
  const read = Object.entries(DEFAULTS).map(([name, usual]) => {
    const value = settings[name];
    const fits =
      typeof value === typeof usual && (typeof value !== 'number' || (value >= 0 && value < 1e9));
    return [name, fits ? value : usual];
  });
  return Object.fromEntries(read) as IPreferenceValues;
}
