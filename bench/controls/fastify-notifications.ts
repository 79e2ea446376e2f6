/**
 * List Notifications by Fastify and pg, as one writes it with care: known credentials in a map, a
 * counter a caller, the query checked and the answer written by schema, one prepared statement on a
 * pool.
 */

import Fastify from 'fastify';
import pg from 'pg';
import { connectionOptions } from '../../src/platform/db/connection/connection-options.ts';
import { listening } from './delivery-loop.ts';

/** The runner's first message. */
export interface NotificationsStart {
  readonly databaseUrl: string;
  readonly accountId: string;
  readonly version: string;
  /** The recipient behind each credential. */
  readonly recipients: Readonly<Record<string, string>>;
  readonly rateLimit: { readonly requests: number; readonly seconds: number };
}

const start = await new Promise<NotificationsStart>((resolve) => process.once('message', resolve));
const recipients = new Map(Object.entries(start.recipients));
const pool = new pg.Pool({
  ...connectionOptions({ url: start.databaseUrl, statementTimeoutMs: 8_000, queryTimeoutMs: 10_000 }),
  max: 10,
});
const statement = {
  name: 'feed',
  text: `
    SELECT id, category, title, body, status, priority, sender_id, resource_type, resource_id, message_id,
      agent_run_id, seen_at, read_at, dismissed_at, created_at, updated_at
    FROM notifications
    WHERE recipient_id = $1 AND status <> 'dismissed' AND ($2::text IS NULL OR status = $2)
      AND ($3::text IS NULL OR category = $3)
    ORDER BY id DESC LIMIT $4`,
};

const text = { type: 'string' } as const;
const nullableText = { type: ['string', 'null'] } as const;
const nothing = { type: 'null' } as const;
const NOTIFICATION = {
  type: 'object',
  properties: {
    ...{ id: text, object: text, category: text, title: text, body: nullableText, status: text },
    ...{ priority: text, sender: nothing, resource: nothing, sender_id: nullableText },
    ...{ resource_type: nullableText, resource_id: nullableText, message_id: nullableText },
    ...{ agent_run_id: nullableText, seen_at: nullableText },
    ...{ read_at: nullableText, dismissed_at: nullableText, created_at: text, updated_at: text },
  },
} as const;
const PAGE = {
  type: 'object',
  properties: {
    object: text,
    page_info: {
      type: 'object',
      properties: {
        ...{ next_page_url: nullableText, previous_page_url: nullableText },
        ...{ has_next_page: { type: 'boolean' }, has_prev_page: { type: 'boolean' } },
      },
    },
    data: { type: 'array', items: NOTIFICATION },
  },
} as const;
const QUERY = {
  type: 'object',
  additionalProperties: false,
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 25 },
    category: { type: 'string', enum: ['chat.message', 'chat.mention', 'chat.added'] },
    status: { type: 'string', enum: ['unseen', 'seen', 'read'] },
    q: { type: 'string', maxLength: 256 },
    cursor: text,
  },
} as const;

interface Row extends Readonly<Record<string, string | null>> {
  readonly id: string;
  readonly created_at: string;
}

interface Query {
  readonly limit: number;
  readonly category?: string;
  readonly status?: string;
}

const app = Fastify();
app.get<{ Querystring: Query }>(
  '/v1/messaging/notifications',
  { schema: { querystring: QUERY, response: { 200: PAGE } } },
  async (request, reply) => {
    const { headers, query, url } = request;
    const recipient = recipients.get(headers.authorization ?? '');
    if (headers['service-version'] !== start.version) return reply.code(400).send({});
    if (recipient === undefined) return reply.code(401).send({});
    if (headers['service-account'] !== start.accountId) return reply.code(404).send({});
    const { remaining, resetS } = count(recipient);
    if (remaining < 0) return reply.code(429).send({});
    reply.headers({
      'RateLimit-Limit': start.rateLimit.requests,
      'RateLimit-Remaining': remaining,
      'RateLimit-Reset': resetS,
    });
    const { limit } = query;
    const values = [recipient, query.status, query.category, limit + 1];
    const { rows } = await pool.query<Row>({ ...statement, values });
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    const goesOn = rows.length > limit && last !== undefined;
    return {
      object: 'list',
      page_info: {
        next_page_url: goesOn ? `${url}&cursor=${cursorOf(last)}` : null,
        previous_page_url: null,
        has_next_page: goesOn,
        has_prev_page: false,
      },
      data: shown.map((row) => ({ ...row, object: 'notification', sender: null, resource: null })),
    };
  },
);

const windows = new Map<string, { used: number; endsMs: number }>();

function count(caller: string): { remaining: number; resetS: number } {
  const { requests, seconds } = start.rateLimit;
  const nowMs = performance.now();
  let window = windows.get(caller);
  if (window === undefined || window.endsMs <= nowMs) {
    window = { used: 0, endsMs: nowMs + seconds * 1_000 };
    windows.set(caller, window);
  }
  window.used += 1;
  return { remaining: requests - window.used, resetS: Math.ceil((window.endsMs - nowMs) / 1_000) };
}

function cursorOf({ created_at, id }: Row): string {
  return Buffer.from(JSON.stringify([created_at, id])).toString('base64url');
}

const address = await app.listen({ port: 0, host: '127.0.0.1' });
listening(Number(new URL(address).port));
process.once('disconnect', () => process.exit(0));
