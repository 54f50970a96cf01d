/**
 * What was chosen in the backend's form, against what there is.
 */

import type { BackendAnswer } from '../protocol';

/** What the form shows. */
export interface IChoice {
  /** A device, `cpu:1`; a platform that does not run yet, `cuda`; or `auto`. */
  readonly device: string;
  readonly cpu_devices: number;
  readonly x64: boolean;
  readonly precision: string;
  /** Whether arrays that variables hold go along. */
  readonly move: boolean;
}

/** The choice that changes nothing. */
export function unchanged(state: BackendAnswer): IChoice {
  const { is_chosen, device, cpu_devices, x64, precision } = state;
  return { device: is_chosen ? device : 'auto', cpu_devices, x64, precision, move: false };
}

/** What differs from how things are, as the kernel takes it; null where nothing does. */
export function changeOf(
  choice: IChoice,
  state: BackendAnswer
): Record<string, string | number | boolean> | null {
  const now = unchanged(state);
  const change: Record<string, string | number | boolean> = {};
  for (const name of ['device', 'cpu_devices', 'x64', 'precision', 'move'] as const) {
    if (choice[name] !== now[name]) {
      change[name] = choice[name];
    }
  }
  return Object.keys(change).length ? change : null;
}

/** A device to offer. */
export interface IOffer {
  readonly value: string;
  readonly label: string;
  readonly isDisabled: boolean;
}

/** The devices to choose from, with the number of CPU devices that was chosen. */
export function offers(choice: IChoice, state: BackendAnswer): readonly IOffer[] {
  const found: IOffer[] = [
    {
      value: 'auto',
      label: state.is_chosen ? 'auto: chosen by jxkernel' : `auto (${state.device})`,
      isDisabled: false
    }
  ];
  for (const platform of state.platforms) {
    if (platform.status === 'running') {
      const names =
        platform.name === 'cpu'
          ? Array.from({ length: choice.cpu_devices }, (_, index) => `cpu:${index}`)
          : platform.devices.map(one => one.name);
      for (const name of names) {
        const kind = platform.devices.find(one => one.name === name)?.kind;
        const isNamed = !kind || kind === platform.name;
        const label = isNamed ? name : `${name} (${kind})`;
        found.push({ value: name, label, isDisabled: false });
      }
    } else {
      const label = `${platform.name}: ${platform.status}`;
      const isDisabled = platform.status !== 'not started';
      found.push({ value: platform.name, label, isDisabled });
    }
  }
  if (!found.some(one => one.value === choice.device)) {
    found.push({ value: choice.device, label: `${choice.device}: gone`, isDisabled: true });
  }
  return found;
}

/** Whether a number of CPU devices may be asked for. */
export function isCount(value: number, state: BackendAnswer): boolean {
  return Number.isInteger(value) && value >= 1 && value <= state.most_cpu_devices;
}
