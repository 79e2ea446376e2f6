import type { InstallationNode } from '@parley/protocol/resources/installation.ts';
import { texts } from '../texts/texts.ts';
import { type Line, Plot } from './plot.tsx';
import { lateness, milliseconds, perSecond, type Unit, whole } from './units.ts';

interface Shown {
  readonly title: string;
  readonly unit: Unit;
  /** One line for each node, or two. */
  readonly lines: readonly Line[];
}

const PLOTS: readonly Shown[] = [
  { title: texts.installation.openSockets, unit: whole, lines: [{ of: 'sockets' }] },
  { title: texts.installation.sends, unit: perSecond, lines: [{ of: 'sends_per_second' }] },
  { title: texts.installation.deliveries, unit: perSecond, lines: [{ of: 'deliveries_per_second' }] },
  {
    title: texts.installation.timeOfSend,
    unit: milliseconds,
    lines: [
      { of: 'send_p99_ms', name: 'p99' },
      { of: 'send_p50_ms', name: 'p50', isDashed: true },
    ],
  },
  { title: texts.installation.eventLoopP99, unit: milliseconds, lines: [{ of: 'event_loop_p99_ms' }] },
  { title: texts.installation.outboxLag, unit: lateness, lines: [{ of: 'outbox_lag_seconds' }] },
];

/** The figures of the last ten minutes, live. */
export function Plots({ nodes }: { readonly nodes: readonly InstallationNode[] }) {
  return (
    <section aria-labelledby="installation-plots">
      <h2 id="installation-plots">{texts.installation.lastMinutes}</h2>
      <div class="installation-plots">
        {PLOTS.map((shown) => (
          <Plot key={shown.title} nodes={nodes} {...shown} />
        ))}
      </div>
    </section>
  );
}
