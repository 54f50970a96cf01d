/**
 * The plugin that reads the settings; its id is that of `schema/plugin.json`.
 */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import { IPreferences } from '../tokens';
import type { IPreferenceValues } from './values';
import { DEFAULTS, valuesOf } from './values';

class Preferences implements IPreferences {
  get values(): IPreferenceValues {
    return this._values;
  }

  get changed(): ISignal<this, IPreferenceValues> {
    return this._changed;
  }

  async set<K extends keyof IPreferenceValues>(
    name: K,
    value: IPreferenceValues[K]
  ): Promise<void> {
    if (this._settings) {
      await this._settings.set(name, value);
    } else {
      this._take({ ...this._values, [name]: value });
    }
  }

  /** Takes the values of settings now, and whenever they change. */
  follow(settings: ISettingRegistry.ISettings): void {
    this._settings = settings;
    settings.changed.connect(() => this._take(valuesOf(settings.composite)));
    this._take(valuesOf(settings.composite));
  }

  private _take(values: IPreferenceValues): void {
    this._values = values;
    this._changed.emit(values);
  }

  private readonly _changed = new Signal<this, IPreferenceValues>(this);
  private _values = DEFAULTS;
  private _settings: ISettingRegistry.ISettings | null = null;
}

const settingsPlugin: JupyterFrontEndPlugin<IPreferences> = {
  id: 'jxkernel:plugin',
  description: 'The settings of jxkernel.',
  autoStart: true,
  provides: IPreferences,
  requires: [ISettingRegistry],
  activate: (_, registry: ISettingRegistry) => {
    const preferences = new Preferences();
    registry.load(settingsPlugin.id).then(
      settings => preferences.follow(settings),
      reason => console.error(`The settings of jxkernel could not be read: ${String(reason)}`)
    );
    return preferences;
  }
};

export default [settingsPlugin];
