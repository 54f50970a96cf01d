/**
 * The panel's sections of the ledger and of the functions that jit has traced.
 */

import React from 'react';

import { feedOf } from '../shared/asking';
import type { IPanel, IPreferences, ISection } from '../tokens';
import { FunctionsSection } from './functions';
import { LedgerSection } from './section';

/** The section of the ledger. */
export function ledgerSection(
  panel: IPanel,
  preferences: IPreferences,
  openAll: (token: string) => void
): ISection {
  const feed = feedOf(panel, 'ledger');
  return {
    id: 'ledger',
    name: 'Ledger',
    rank: 0,
    filtered: 'ledger',
    hasFirst: false,
    feed,
    draw: () => {
      const { answer } = feed;
      return (
        answer && (
          <LedgerSection
            answer={answer}
            filter={panel.filter}
            values={preferences.values}
            ways={panel.ways}
            openAll={() => openAll(answer.token)}
          />
        )
      );
    }
  };
}

/** The section of functions. */
export function functionsSection(panel: IPanel): ISection {
  const feed = feedOf(panel, 'functions');
  return {
    id: 'functions',
    name: 'Functions',
    rank: 1,
    filtered: 'functions',
    hasFirst: false,
    feed,
    draw: () =>
      feed.answer && (
        <FunctionsSection answer={feed.answer} filter={panel.filter} ways={panel.ways} />
      )
  };
}
