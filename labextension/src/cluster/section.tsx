/**
 * The section of the cluster: its ranks, what their devices hold, and where each is.
 */

import React from 'react';

import type { ClusterAnswer, ClusterRank } from '../protocol';
import { Bar, Place } from '../shared/parts';
import { bytes, counted } from '../shared/texts.ts';
import type { IWays } from '../tokens';

/** Draws the ranks of the cluster. */
export function ClusterSection(props: {
  readonly answer: ClusterAnswer;
  readonly ways: IWays;
}): React.JSX.Element {
  const { answer, ways } = props;
  const { ranks } = answer;
  if (!ranks.length) {
    return (
      <p className="jp-jxk-panel-empty">
        No cluster runs: <code>%jx cluster 4</code> starts one.
      </p>
    );
  }
  const most = Math.max(...ranks.map(one => one.bytes), 1);
  const lost = ranks.filter(one => one.state === 'lost').length;
  return (
    <>
      <p className="jp-jxk-panel-summary">
        {counted(ranks.length, 'rank')} ·{' '}
        {answer.is_running ? 'a cell runs' : lost ? `${lost} lost: %jx cluster` : 'ready'}
      </p>
      <p className="jp-jxk-panel-dim">service at {answer.address}</p>
      <ul className="jp-jxk-panel-list">
        {ranks.map(one => (
          <Rank key={one.rank} rank={one} most={most} ways={ways} />
        ))}
      </ul>
    </>
  );
}

function Rank(props: {
  readonly rank: ClusterRank;
  readonly most: number;
  readonly ways: IWays;
}): React.JSX.Element {
  const { rank, most, ways } = props;
  return (
    <li>
      <div className="jp-jxk-panel-row">
        <strong>rank {rank.rank}</strong>
        <span className="jp-jxk-panel-badge">
          {rank.state}
          {rank.why && ` ${rank.why}`}
        </span>
        <span className="jp-jxk-panel-cost">
          <Bar part={rank.bytes / most} text={bytes(rank.bytes)} />
        </span>
      </div>
      <div className="jp-jxk-panel-dim">
        {rank.devices.join(' ')} · process {rank.process} on {rank.host}
      </div>
      {rank.place && (
        <div className="jp-jxk-panel-row">
          <Place text={rank.place} cells={{}} ways={ways} />
          <code className="jp-jxk-panel-held">{rank.code}</code>
          <span className="jp-jxk-panel-cost">{Math.round(rank.seconds)} s</span>
        </div>
      )}
    </li>
  );
}
