import pg from 'pg';
import { until } from './until.ts';

interface Event {
  readonly event?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** The state of a reader that knows messages, notifications and conversations only from events. */
export class Shown {
  readonly #things = new Map<string, { readonly version: string; readonly text: string }>();

  static of(events: readonly Event[]): Shown {
    const shown = new Shown();
    for (const event of events) shown.receive(event);
    return shown;
  }

  /** Receives an event; ignores a change older than the current state, as clients do. */
  receive({ event, data }: Event): void {
    const text = textOf(data);
    if (event === undefined || data === undefined || text === undefined) return;
    const id = String(data.id);
    const version = String(data.updated_at);
    const known = this.#things.get(id);
    if (known === undefined || version >= known.version) this.#things.set(id, { version, text });
  }

  /** Returns the text; undefined if it has not arrived. */
  text(id: string): string | undefined {
    return this.#things.get(id)?.text;
  }
}

/** A reader whose connection has been live since `sinceSeconds`. */
export interface ShownReader {
  readonly name: string;
  readonly shown: () => Shown;
  readonly conversationIds: ReadonlySet<string>;
  /** The actor whose notifications it receives. */
  readonly actorId?: string;
  /** Seconds by Postgres' clock. */
  readonly sinceSeconds: number;
}

export interface ShownFigures {
  /** Number of comparisons over all readers, by kind. */
  readonly compared: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

export async function clockSeconds(databaseUrl: string): Promise<number> {
  const [row] = await query<{ seconds: number }>(
    databaseUrl,
    'SELECT extract(epoch FROM clock_timestamp())::float8 AS seconds',
  );
  return row!.seconds;
}

/**
 * Compares readers with Postgres once all writes have ended: the last state of everything that
 * changed since they connected. Waits a minute for each reader.
 */
export async function checkShown(
  databaseUrl: string,
  readers: readonly ShownReader[],
): Promise<ShownFigures> {
  await until(async () => (await query(databaseUrl, 'SELECT FROM outbox LIMIT 1')).length === 0, {
    what: 'an empty outbox',
  });
  const things = await query<Thing>(databaseUrl, READ_THINGS, [
    [...new Set(readers.flatMap(({ conversationIds }) => [...conversationIds]))],
    readers.flatMap(({ actorId }) => actorId ?? []),
    Math.min(...readers.map(({ sinceSeconds }) => sinceSeconds)),
  ]);
  const pairs = readers.map((reader) => ({
    reader,
    expected: things.filter(
      ({ stream, seconds }) =>
        seconds > reader.sinceSeconds && (stream === reader.actorId || reader.conversationIds.has(stream)),
    ),
  }));
  const compared: Record<string, number> = {};
  for (const { kind } of pairs.flatMap(({ expected }) => expected))
    compared[kind] = (compared[kind] ?? 0) + 1;
  let differing = pairs;
  const differences = ({ reader, expected }: (typeof pairs)[number]) => {
    const shown = reader.shown();
    return expected.filter(({ id, text }) => shown.text(id) !== text);
  };
  await until(
    () => {
      differing = differing.filter((pair) => differences(pair).length > 0);
      return differing.length === 0;
    },
    { what: 'every reader to show what Postgres has' },
  ).catch(() => undefined);
  const problems = differing.flatMap((pair) =>
    differences(pair).map(
      ({ kind, id, stream, text }) =>
        `${pair.reader.name} shows ${JSON.stringify(pair.reader.shown().text(id))} instead of ${JSON.stringify(text)}: ${kind} ${id} in ${stream}`,
    ),
  );
  return { compared, problems };
}

interface Thing {
  readonly kind: string;
  /** A conversation or an actor. */
  readonly stream: string;
  readonly id: string;
  readonly text: string;
  readonly seconds: number;
}

/** Returns the same text as READ_THINGS builds. */
function textOf(data: Event['data']): string | undefined {
  switch (data?.object) {
    case 'chat_message':
      return data.deleted_at === null ? `: ${data.body ?? ''}` : `deleted: ${data.body ?? ''}`;
    case 'conversation':
      return `: ${data.title}`;
    case 'notification':
      return `${data.status}: ${data.body ?? ''}`;
    default:
      return undefined;
  }
}

// Readers must have nothing left of a deleted message, whatever the table keeps.
const READ_THINGS = `
  SELECT CASE WHEN deleted_at IS NOT NULL THEN 'deletion' WHEN edited_at IS NOT NULL THEN 'edit' ELSE 'message' END
      AS kind, conversation_id AS stream, id,
    CASE WHEN deleted_at IS NULL THEN ': ' || coalesce(body, '') ELSE 'deleted: ' END AS text,
    extract(epoch FROM updated_at)::float8 AS seconds
  FROM messages WHERE status = 'sent' AND conversation_id = ANY($1) AND updated_at > to_timestamp($3)
  UNION ALL
  SELECT 'conversation.updated', id, id, ': ' || title, extract(epoch FROM updated_at)::float8
  FROM conversations WHERE id = ANY($1) AND updated_at > created_at AND updated_at > to_timestamp($3)
  UNION ALL
  SELECT CASE WHEN updated_at > created_at THEN 'notification.updated' ELSE 'notification.created' END,
    recipient_id, id, status || ': ' || coalesce(body, ''), extract(epoch FROM updated_at)::float8
  FROM notifications WHERE recipient_id = ANY($2) AND updated_at > to_timestamp($3)`;

async function query<Row extends object>(
  databaseUrl: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}
