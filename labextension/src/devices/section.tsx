/**
 * The section of devices, with the form that changes what computes.
 */

import React from 'react';

import type { BackendAnswer, DeviceState, PlatformState, PreviewAnswer } from '../protocol';
import { Button } from '../shared/controls.tsx';
import { Bar, Warning } from '../shared/parts';
import { bytes, counted, heldBy } from '../shared/texts.ts';
import type { BackendModel } from './backend';
import type { IChoice } from './choice.ts';
import { offers } from './choice.ts';

/** Draws the form, then each platform with its devices and what lives there. */
export function DevicesSection(props: {
  readonly answer: BackendAnswer;
  readonly model: BackendModel;
}): React.JSX.Element {
  const { answer, model } = props;
  if (!answer.is_started || !model.choice) {
    return (
      <>
        <p className="jp-jxk-panel-empty">No platform runs yet: the first computation starts one.</p>
        <Button text="Start it now" onClick={() => model.start()} />
      </>
    );
  }
  return (
    <>
      <BackendForm answer={answer} model={model} choice={model.choice} />
      {answer.group && (
        <p className="jp-jxk-panel-dim">This process is {answer.group} that run one program.</p>
      )}
      <h3>Devices</h3>
      {answer.platforms.map(one => (
        <Platform key={one.name} platform={one} answer={answer} model={model} />
      ))}
    </>
  );
}

function BackendForm(props: {
  readonly answer: BackendAnswer;
  readonly model: BackendModel;
  readonly choice: IChoice;
}): React.JSX.Element {
  const { answer, model, choice } = props;
  const isChanged = model.change !== null;
  return (
    <form
      className="jp-jxk-panel-form"
      aria-label="What computes"
      onSubmit={event => {
        event.preventDefault();
        void model.apply();
      }}
    >
      <label>
        <span>Default device</span>
        <select
          data-jxk-first
          value={choice.device}
          onChange={event => model.choose({ device: event.target.value })}
        >
          {offers(choice, answer).map(one => (
            <option key={one.value} value={one.value} disabled={one.isDisabled}>
              {one.label}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>CPU devices</span>
        <input
          type="number"
          min={1}
          max={answer.most_cpu_devices}
          required
          value={choice.cpu_devices || ''}
          onChange={event => model.choose({ cpu_devices: Number(event.target.value) })}
        />
      </label>
      <label>
        <span>Matrix precision</span>
        <select
          value={choice.precision}
          onChange={event => model.choose({ precision: event.target.value })}
        >
          {[...new Set([...answer.precisions, answer.precision])].map(one => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <label className="jp-jxk-panel-check">
        <input
          type="checkbox"
          checked={choice.x64}
          onChange={event => model.choose({ x64: event.target.checked })}
        />
        64-bit dtypes
      </label>
      <label className="jp-jxk-panel-check">
        <input
          type="checkbox"
          checked={choice.move}
          onChange={event => model.choose({ move: event.target.checked })}
        />
        move the arrays that variables hold
      </label>
      {isChanged && <Preview model={model} />}
      {model.outcome && (
        <p
          className={model.outcome.isError ? 'jp-jxk-panel-failed' : 'jp-jxk-panel-outcome'}
          role={model.outcome.isError ? 'alert' : 'status'}
        >
          {model.outcome.text}
        </p>
      )}
    </form>
  );
}

/** What the choice would do, and the buttons to do it or not. */
function Preview(props: { readonly model: BackendModel }): React.JSX.Element {
  const { model } = props;
  const { preview } = model;
  const isOld = preview.isAsking || preview.isStale;
  return (
    <div className="jp-jxk-panel-preview" role="group" aria-label="What this would do">
      <div aria-live="polite" aria-busy={isOld}>
        <strong>This would</strong>
        {preview.error ? (
          <p className="jp-jxk-panel-failed">{preview.error}</p>
        ) : preview.answer ? (
          <PreviewLines preview={preview.answer} isOld={isOld} />
        ) : (
          <p className="jp-jxk-panel-dim">asking the kernel…</p>
        )}
      </div>
      <div className="jp-jxk-panel-buttons">
        <Button text="Undo" onClick={() => model.undo()} />
        <Button
          text={model.isApplying ? 'Applying…' : 'Apply'}
          isDisabled={!model.canApply}
          isSubmit
        />
      </div>
    </div>
  );
}

function PreviewLines(props: {
  readonly preview: PreviewAnswer;
  readonly isOld: boolean;
}): React.JSX.Element {
  const { preview, isOld } = props;
  const sum = (some: readonly { readonly bytes: number }[]): string =>
    bytes(some.reduce((total, one) => total + one.bytes, 0));
  const listed = (some: PreviewAnswer['moves']): string =>
    some
      .slice(0, 5)
      .map(one => `${one.names[0] ?? ''} (${bytes(one.bytes)})`)
      .join(', ') + (some.length > 5 ? ', …' : '');
  return (
    <div className={isOld ? 'jp-mod-old' : undefined}>
      {preview.restart.map(reason => (
        <Warning key={reason}>
          <strong>Needs a restart of the kernel.</strong> {reason}
        </Warning>
      ))}
      <ul>
        {preview.steps.map(step => (
          <li key={step.what}>
            change {step.what} from <code>{step.before}</code> to <code>{step.after}</code>
          </li>
        ))}
        {preview.moves.length > 0 && (
          <li>
            move {counted(preview.moves.length, 'array')}, {sum(preview.moves)}:{' '}
            {listed(preview.moves)}
          </li>
        )}
        {preview.stays.length > 0 && (
          <li>
            leave {counted(preview.stays.length, 'array')}, {sum(preview.stays)}, where they are:{' '}
            {listed(preview.stays)}
          </li>
        )}
        {preview.retraced.length > 0 && (
          <li>
            trace and compile again when called: <code>{preview.retraced.join(', ')}</code>
          </li>
        )}
        {preview.notes.map(note => (
          <li key={note}>{note}</li>
        ))}
        {!preview.changes && <li>change nothing</li>}
      </ul>
    </div>
  );
}

function Platform(props: {
  readonly platform: PlatformState;
  readonly answer: BackendAnswer;
  readonly model: BackendModel;
}): React.JSX.Element {
  const { platform, answer, model } = props;
  return (
    <section className="jp-jxk-panel-platform" aria-label={platform.name}>
      <div className="jp-jxk-panel-row">
        <strong>{platform.name}</strong>
        <span className="jp-jxk-panel-badge">{platform.status}</span>
        {platform.plugin && <span className="jp-jxk-panel-dim">{platform.plugin}</span>}
      </div>
      <ul className="jp-jxk-panel-list">
        {platform.devices.map(one => (
          <Device key={one.name} device={one} answer={answer} model={model} />
        ))}
      </ul>
    </section>
  );
}

function Device(props: {
  readonly device: DeviceState;
  readonly answer: BackendAnswer;
  readonly model: BackendModel;
}): React.JSX.Element {
  const { device, answer, model } = props;
  const largest = answer.largest[device.name] ?? [];
  const used = device.in_use ?? device.array_bytes;
  const whole = device.limit ?? (device.free === null ? 0 : used + device.free);
  return (
    <li>
      <div className="jp-jxk-panel-row">
        <code className="jp-jxk-panel-name">{device.name}</code>
        {device.kind !== '' && device.kind !== device.name.split(':')[0] && (
          <span className="jp-jxk-panel-dim">{device.kind}</span>
        )}
        {device.is_default && <span className="jp-jxk-panel-badge jp-mod-chosen">● default</span>}
        <span className="jp-jxk-panel-cost">
          {!device.is_default && (
            <Button
              text="Use…"
              title={`Use ${device.name} as the default device…`}
              onClick={() => model.choose({ device: device.name })}
            />
          )}
        </span>
      </div>
      <div>
        {counted(device.arrays, 'array')}, {bytes(device.array_bytes)}
      </div>
      {whole > 0 && (
        <div className="jp-jxk-panel-dim">
          <Bar
            part={used / whole}
            text={`${bytes(used)} in use${device.limit ? ` of ${bytes(device.limit)}` : ''}${
              device.free === null ? '' : `, ${bytes(device.free)} free`
            }`}
          />
        </div>
      )}
      {largest.length > 0 && (
        <details>
          <summary>Largest arrays there</summary>
          <ul className="jp-jxk-panel-inner">
            {largest.map((one, index) => (
              <li key={index}>
                <code>{heldBy(one)[0] ?? 'held by no variable'}</code> {one.type} ·{' '}
                {bytes(one.bytes)}
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}
