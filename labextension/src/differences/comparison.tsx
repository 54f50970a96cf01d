/**
 * A program's comparison with others that the kernel keeps.
 */

import React from 'react';

import type { CompareAnswer } from '../protocol';
import type { IComparison, IKeptProgram } from '../tokens';
import { Diff } from './diff.tsx';

/** Asks for other programs and for differences, and draws both. */
export class Comparison implements IComparison {
  constructor(private readonly _program: IKeptProgram) {}

  get isOffered(): boolean {
    return this._others !== null;
  }

  async offer(): Promise<void> {
    const isOffered = this.isOffered;
    this._others = this._compared = null;
    const answer = isOffered ? { titles: null } : await this._program.ask('others');
    if (answer) {
      const { titles } = answer;
      this._others = titles?.length ? titles : null;
      const isNone = titles?.length === 0;
      this._program.say(isNone ? 'The kernel keeps no other program to compare with.' : '');
    }
  }

  choice(): React.JSX.Element | null {
    return (
      this._others && (
        <Others
          titles={this._others}
          chosen={this._compared?.diff.after ?? ''}
          choose={other => void this._compare(other)}
        />
      )
    );
  }

  difference(): React.JSX.Element | null {
    const compared = this._compared;
    return compared && <Diff data={compared.diff} text={compared.text} key={compared.text} />;
  }

  /** Compares it with another program, by its title; with none where that is empty. */
  private async _compare(other: string): Promise<void> {
    const compared = other ? await this._program.ask('compare', { other }) : null;
    if (compared || !other) {
      this._compared = compared;
      this._program.say('');
    }
  }

  private _others: readonly string[] | null = null;
  private _compared: CompareAnswer | null = null;
}

/** Chooses the program to compare with. */
function Others(props: {
  readonly titles: readonly string[];
  readonly chosen: string;
  readonly choose: (title: string) => void;
}): React.JSX.Element {
  return (
    <div className="jp-jxk-bar" data-lm-suppress-shortcuts="true">
      <label>
        {'with '}
        <select
          aria-label="program to compare with"
          value={props.chosen}
          onChange={event => props.choose(event.target.value)}
        >
          <option value="">choose a program</option>
          {props.titles.map(title => (
            <option key={title}>{title}</option>
          ))}
        </select>
      </label>
    </div>
  );
}
