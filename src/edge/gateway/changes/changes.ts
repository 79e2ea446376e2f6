import type { ChangedArm, EventReads, Since, Stream } from '../../../core/events/event-source.ts';
import { eventSources } from '../../../core/features/event-sources.ts';
import type { CommittedFrame } from '../../../core/frames/frame.ts';
import { toFrame } from '../../../core/frames/publish.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import type { Hooks } from '../../../platform/hooks.ts';

/** The streams whose changes are read. */
export interface ChangesOf {
  readonly conversationIds: readonly string[];
  readonly actorIds: readonly string[];
}

export interface Changes {
  /** By conversation or actor; streams in which nothing changed are left out. */
  readonly frames: ReadonlyMap<string, readonly CommittedFrame[]>;
  /** Streams with more changes than the limit or more text than MAX_BYTES: none were read. */
  readonly tooMany: ReadonlySet<string>;
}

/**
 * Reads what readers of these streams may have missed, from every source of events, except new
 * messages, which are replayed by number. Takes one query if nothing changed.
 */
export async function readChanges(
  from: EventReads,
  { conversationIds, actorIds }: ChangesOf,
  since: Since,
  limit = NO_LIMIT,
): Promise<Changes> {
  const { catchUps, readChanged } = reading(from.database.hooks);
  const rows = await from.database.query(
    readChanged,
    conversationIds,
    actorIds,
    since.xid,
    Math.min(limit + 1, NO_LIMIT),
    since.began,
  );
  const isTooMany = ({ count, bytes }: Changed) => count > limit || (limit < NO_LIMIT && bytes > MAX_BYTES);
  const tooMany = new Set(rows.filter(isTooMany).map(({ stream }) => stream));
  const frames = new Map<string, CommittedFrame[]>();
  for (const catchUp of catchUps) {
    const changed = rows.filter(({ part, stream }) => part === catchUp.arm.part && !tooMany.has(stream));
    if (changed.length === 0) continue;
    const streamIds = changed.map(({ stream }) => stream);
    for (const event of await catchUp.since(from, streamIds, since)) {
      const ofStream = frames.get(event.stream);
      if (ofStream === undefined) frames.set(event.stream, [toFrame(event)]);
      else ofStream.push(toFrame(event));
    }
  }
  return { frames, tooMany };
}

interface Changed {
  readonly stream: string;
  readonly part: string;
  readonly count: number;
  readonly bytes: number;
}

/** For one part of a stream: the size of 1,000 messages of a usual length. */
const MAX_BYTES = 2 * 1024 * 1024;

const NO_LIMIT = 2 ** 31 - 1;

const STREAMS: Readonly<Record<Stream, string>> = { conversation: '$1', actor: '$2' };

/** $4: the most rows of a stream that are read. */
function streamsWith(stream: Stream, { part, rows, bytes = '0' }: ChangedArm): string {
  return `
      SELECT s.id AS stream, '${part}' AS part, changed.bytes FROM unnest(${STREAMS[stream]}::text[]) AS s(id), LATERAL (
        SELECT ${bytes} AS bytes FROM ${rows} LIMIT $4) AS changed`;
}

const known = new WeakMap<Hooks, ReturnType<typeof readingBy>>();

/** Returns the reads for a node's features, made at first use. */
function reading(hooks: Hooks) {
  const found = known.get(hooks) ?? readingBy(hooks);
  known.set(hooks, found);
  return found;
}

function readingBy(hooks: Hooks) {
  const parts = new Set<string>();
  const catchUps = (['conversation', 'actor'] as const).flatMap((stream) => {
    const ofStream = eventSources(hooks).flatMap(({ changed }) => changed[stream] ?? []);
    for (const { arm } of ofStream) parts.add(streamsWith(stream, arm));
    return ofStream;
  });
  return { catchUps, readChanged: readChangedBy([...parts]) };
}

function readChangedBy(parts: readonly string[]) {
  return statement<
    [
      conversationIds: readonly string[],
      actorIds: readonly string[],
      xid: string,
      limit: number,
      began: string,
    ],
    Changed
  >('read-changed')`
    SELECT stream, part, count(*), coalesce(sum(bytes), 0) AS bytes FROM (${parts.join(`
      UNION ALL`)}
    ) AS changed GROUP BY stream, part`;
}
