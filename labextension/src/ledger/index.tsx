/**
 * The plugins of the recompilation ledger: its view, its sections of the panel and its commands.
 */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IThemeManager, ReactWidget, UseSignal } from '@jupyterlab/apputils';
import { IRenderMimeRegistry, MimeModel } from '@jupyterlab/rendermime';
import type { JSONObject } from '@lumino/coreutils';
import { Widget } from '@lumino/widgets';
import React, { useLayoutEffect, useRef } from 'react';

import type { BuildTimeline, LedgerPayload } from '../protocol';
import { ask } from '../shared/asking';
import { ICommands, IPanel, IPreferences, ISessions, IViews } from '../tokens';
import { explainCell } from './explain';
import { figure, PLOTLY } from './figure.ts';
import { Ledger } from './ledger.tsx';
import { functionsSection, ledgerSection } from './sections';
import { ledgerTab } from './tab';

const ledgerPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:ledger',
  description: 'Draws the recompilation ledger.',
  autoStart: true,
  requires: [IViews, IRenderMimeRegistry],
  optional: [ISessions, IThemeManager],
  activate: (
    _,
    views: IViews,
    rendermime: IRenderMimeRegistry,
    sessions: ISessions | null,
    themes: IThemeManager | null
  ) => {
    views.add('ledger', ({ data, text, trusted }) => {
      const has = rendermime.mimeTypes.includes(PLOTLY);
      const drawn = (theme?: string): React.JSX.Element => (
        <Plotly key={theme ?? ''} found={data.timeline} rendermime={rendermime} />
      );
      const themed = (): React.JSX.Element =>
        themes ? (
          <UseSignal signal={themes.themeChanged}>{(_, now) => drawn(now?.newValue)}</UseSignal>
        ) : (
          drawn()
        );
      const plotly = has ? themed : null;
      const all = trusted && sessions && data.token ? () => allBuilds(sessions, data.token) : null;
      return ReactWidget.create(<Ledger data={data} text={text} plotly={plotly} all={all} />);
    });
  }
};

const sectionsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jxkernel:ledger-sections',
  description: 'Shows the ledger and the traced functions in the panel, and explains cells.',
  autoStart: true,
  requires: [IPanel, ICommands, IPreferences],
  optional: [IViews],
  activate: (
    app: JupyterFrontEnd,
    panel: IPanel,
    commands: ICommands,
    preferences: IPreferences,
    views: IViews | null
  ) => {
    const openAll = (token: string): void =>
      void commands.act(async session => {
        const tab = views && (await ledgerTab(views, session, token));
        if (tab) {
          app.shell.add(tab, 'main');
        }
      });
    panel.add(ledgerSection(panel, preferences, openAll));
    panel.add(functionsSection(panel));
    commands.add('jxkernel:show-ledger', {
      label: 'Show Recompilation Ledger',
      caption: 'Why functions were traced and compiled, and what it cost',
      execute: () => panel.show('ledger')
    });
    commands.add('jxkernel:explain-cell', {
      label: 'Explain Active Cell',
      caption: 'What was traced and compiled in the active cell, and why',
      isEnabled: () => commands.session !== null && commands.codeCell !== null,
      execute: () =>
        commands.act(async session => {
          const model = commands.codeCell?.model as
            | { readonly id: string; readonly executionCount?: number | null }
            | undefined;
          if (model) {
            await explainCell(session, model.id, model.executionCount ?? null);
          }
        })
    });
  }
};

export default [ledgerPlugin, sectionsPlugin];

/** Asks the kernel for all builds that it holds. */
async function allBuilds(sessions: ISessions, token: string): Promise<LedgerPayload> {
  const session = sessions.current;
  if (!session?.status) {
    throw new Error('No running kernel has jxkernel: the rest cannot be asked for.');
  }
  return ask(session, 'builds', { token });
}

/** The figure by plotly's own renderer, which plotly brings to JupyterLab, in the theme's colours. */
function Plotly(props: {
  readonly found: BuildTimeline;
  readonly rendermime: IRenderMimeRegistry;
}): React.JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const node = box.current;
    if (!node) {
      return;
    }
    const style = getComputedStyle(node);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    const colours = {
      text: colour('--jp-ui-font-color1'),
      line: colour('--jp-border-color2'),
      stages: {
        trace: colour('--jp-brand-color2'),
        lower: colour('--jp-warn-color1'),
        compile: colour('--jp-brand-color1')
      }
    };
    const data = { [PLOTLY]: figure(props.found, colours) as JSONObject };
    const renderer = props.rendermime.createRenderer(PLOTLY);
    Widget.attach(renderer, node);
    void renderer.renderModel(new MimeModel({ data, trusted: true }));
    return () => {
      if (!node.isConnected) {
        // The output has gone before: it is no longer attached, and was not told.
        renderer.clearFlag(Widget.Flag.IsAttached);
      }
      renderer.dispose();
    };
  }, [props.found]);
  return <div ref={box} className="jp-jxk-plotly" />;
}
