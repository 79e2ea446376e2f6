import type { InstallationNode, NodeFigures } from '@parley/protocol/resources/installation.ts';
import { fullTimeOf, shortTimeOf } from '@parley/ui/text/time.ts';
import { texts } from '../texts/texts.ts';
import { latest } from './history.ts';
import { Swatch } from './swatch.tsx';
import { bytes, lateness, milliseconds, perSecond, whole } from './units.ts';

/** The nodes, with their present work. */
export function Nodes({ nodes }: { readonly nodes: readonly InstallationNode[] }) {
  return (
    <section aria-labelledby="installation-nodes">
      <h2 id="installation-nodes">{texts.installation.nodes}</h2>
      <ul class="installation-nodes">
        {nodes.map((node, place) => (
          <Node key={node.id} node={node} place={place} />
        ))}
      </ul>
    </section>
  );
}

function Node({ node, place }: { readonly node: InstallationNode; readonly place: number }) {
  const ill = illOf(node);
  return (
    <li class="installation-node" aria-label={texts.installation.node(shortId(node.id))}>
      <header>
        <Swatch place={place} />
        <h3 title={node.id}>{shortId(node.id)}</h3>
        <span class="installation-state" data-ill={ill !== ''}>
          {ill || texts.installation.states[node.state]}
        </span>
        <p class="installation-about">
          {texts.installation.since(
            node.release,
            node.node_version,
            <time dateTime={node.started_at} title={fullTimeOf(node.started_at)}>
              {shortTimeOf(node.started_at)}
            </time>,
          )}
          {node.answers && texts.installation.answers}
        </p>
      </header>
      <dl>
        {FIGURES.map(({ label, text }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{text(latest(node))}</dd>
          </div>
        ))}
      </dl>
    </li>
  );
}

interface Figure {
  readonly label: string;
  readonly text: (figures: NodeFigures | undefined) => string;
}

const FIGURES: readonly Figure[] = [
  { label: texts.installation.sockets, text: (of) => whole(of?.sockets) },
  { label: texts.installation.sends, text: (of) => perSecond(of?.sends_per_second) },
  { label: texts.installation.deliveries, text: (of) => perSecond(of?.deliveries_per_second) },
  { label: texts.installation.sendP50, text: (of) => milliseconds(of?.send_p50_ms) },
  { label: texts.installation.sendP99, text: (of) => milliseconds(of?.send_p99_ms) },
  { label: texts.installation.eventLoop, text: (of) => milliseconds(of?.event_loop_p99_ms) },
  { label: texts.installation.outboxLag, text: (of) => lateness(of?.outbox_lag_seconds) },
  { label: texts.installation.memory, text: (of) => bytes(of?.memory_bytes) },
];

const POSTGRES: Readonly<Record<string, string>> = texts.installation.postgresStates;

/** Returns as much of an id as tells the nodes of an installation apart. */
export function shortId(id: string): string {
  return id.slice(0, 6);
}

/** Returns the problem of a node, or ''. */
function illOf({ state, silent_seconds, postgres, redis, files }: InstallationNode): string {
  if (state === 'silent') return texts.installation.silentFor(silent_seconds);
  const ills = [
    ...(postgres === 'up'
      ? []
      : [texts.installation.postgres(POSTGRES[postgres] ?? postgres.replaceAll('_', ' '))]),
    ...(redis === 'away' ? [texts.installation.redisAway] : []),
    ...(files === 'disk_full' ? [texts.installation.diskFull] : []),
  ];
  return ills.join(', ');
}
