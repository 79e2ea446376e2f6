/**
 * List Notifications by careful use of Fastify and pg: known credentials in a map, a counter a
 * caller, the query checked and the answer written by schema, one prepared statement on a pool.
 */

import type { List } from '@parley/protocol/lists.ts';
import type { Notification } from '@parley/protocol/resources/notification.ts';
import Fastify from 'fastify';
import pg from 'pg';
import { connectionOptions } from '../../src/platform/db/connection/connection-options.ts';
import { listening } from './delivery-loop.ts';
import { schemaOf } from './schema-of.ts';

/** The runner's first message. */
export interface NotificationsStart {
  readonly databaseUrl: string;
  readonly accountId: string;
  readonly version: string;
  /** The recipient behind each credential. */
  readonly recipients: Readonly<Record<string, string>>;
  /** A page as Parley answers it, with a page behind it. */
  readonly page: List<Notification>;
  readonly rateLimit: { readonly requests: number; readonly seconds: number };
}

const start = await new Promise<NotificationsStart>((resolve) => process.once('message', resolve));
const recipients = new Map(Object.entries(start.recipients));
const pool = new pg.Pool({
  ...connectionOptions({ url: start.databaseUrl, statementTimeoutMs: 8_000, queryTimeoutMs: 10_000 }),
  max: 10,
});
const ADDED = ['object', 'sender', 'resource', 'conversation_id'];
const columns = Object.keys(start.page.data[0]!).filter((field) => !ADDED.includes(field));
const statement = {
  name: 'feed',
  text: `
    SELECT ${columns.join(', ')}
    FROM notifications
    WHERE recipient_id = $1 AND status <> 'dismissed' AND ($2::text IS NULL OR status = $2)
      AND ($3::text IS NULL OR category = $3)
    ORDER BY id DESC LIMIT $4`,
};

const QUERY = {
  type: 'object',
  additionalProperties: false,
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 25 },
    category: { type: 'string', enum: ['chat.message', 'chat.mention', 'chat.added'] },
    status: { type: 'string', enum: ['unseen', 'seen', 'read'] },
    q: { type: 'string', maxLength: 256 },
    cursor: { type: 'string' },
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
  { schema: { querystring: QUERY, response: { 200: schemaOf(start.page) } } },
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
      data: shown.map((row) => ({
        ...row,
        object: 'notification',
        sender: null,
        resource: null,
        conversation_id: row.resource_id,
      })),
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
