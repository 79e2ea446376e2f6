/** Acts of several campaigns on the demo account, as its admin or operator. */

import { NEWEST_VERSION } from '@parley/protocol/versions.ts';
import pg from 'pg';
import { HOOKS } from '../../src/app/features.ts';
import { SigningKey } from '../../src/core/audit/signing-key.ts';
import { purgeDeleted } from '../../src/features/compliance/purge-deleted.ts';
import { type Database, openDatabase } from '../../src/platform/db/connection/database.ts';
import { statement } from '../../src/platform/db/connection/statement.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import type { TestNode } from '../support/node.ts';
import { Random } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { log } from '../support/timeline.ts';
import { until } from '../support/until.ts';

/** The ground of the campaigns of removals. */
export interface Stage {
  readonly cluster: Cluster;
  readonly nodes: readonly [TestNode, TestNode];
  readonly postgres: pg.Pool;
  /** A connection like that of a third node. */
  readonly database: Database;
  readonly random: Random;
}

export interface StageOptions {
  readonly seed: number;
  /** Default: a new cluster. Its nodes share their files and sweep often (`SWEEPING_ENV`). */
  readonly cluster?: Cluster;
}

/** Makes a sweep always be under way. */
export const SWEEPING_ENV = { PARLEY_RETENTION_SWEEP_MS: '100' };

/** Opens a stage on which messages are kept for a day. */
export async function openStage(t: Teardown, { seed, cluster: given }: StageOptions): Promise<Stage> {
  const cluster = given ?? (await startCluster(t, SWEEPING_ENV, { sharesFiles: true }));
  const postgres = new pg.Pool({ connectionString: cluster.databaseUrl, max: 8 });
  t.teardown(() => postgres.end());
  const database = await openDatabase({ url: cluster.databaseUrl, log, hooks: HOOKS });
  t.teardown(() => database.close());
  const nodes = [cluster.nodes[0].at(NEWEST_VERSION), cluster.nodes[1].at(NEWEST_VERSION)] as const;
  await setMessagesDays(nodes[0], 1);
  return { cluster, nodes, postgres, database, random: new Random(seed) };
}

export type Answer = Awaited<ReturnType<TestNode['call']>>;

/** Returns the body. Throws if the answer has another status. */
export function expect(status: number, { status: got, body }: Answer): Record<string, unknown> {
  if (got === status) return body;
  throw new Error(`answered ${got} in place of ${status}: ${JSON.stringify(body)}`);
}

/** Creates a user that may send, with this address; returns its actor id. */
export async function createPerson(node: TestNode, name: string, email: string): Promise<string> {
  const roles = await node.call('GET', '/v1/roles?limit=100&include[]=permissions');
  const { data } = expect(200, roles) as unknown as { data: { id: string; permissions: string[] }[] };
  const role = data.find(({ permissions }) => permissions.includes('messaging:update'))!;
  const created = await node.call('POST', '/v1/users', { name, email, role_id: role.id });
  return String(expect(201, created).actor_id);
}

/** Uploads a text file; returns its key. */
export async function uploadText(
  node: TestNode,
  filename: string,
  text: string,
  token?: string,
): Promise<string> {
  const wanted = { filename, content_type: 'text/plain', size_bytes: text.length };
  const announced = await node.call('POST', '/v1/messaging/attachments/upload-url', wanted, token);
  const { url, headers, s3_key } = expect(201, announced) as unknown as {
    url: string;
    headers: Record<string, string>;
    s3_key: string;
  };
  const { status } = await fetch(url, { method: 'PUT', headers, body: text });
  if (status >= 300) throw new Error(`the upload was answered ${status}`);
  return s3_key;
}

export function setHold(
  node: TestNode,
  conversationId: string,
  legalHold: 'held' | 'released',
): Promise<Answer> {
  const path = `/v1/messaging/conversations/${conversationId}/actions/set-legal-hold`;
  return node.call('POST', path, { legal_hold: legalHold });
}

/** Purges the conversation if it was deleted, as a third node would 30 days later. */
export async function purgeSoon(
  database: Database,
  { dataDir }: TestNode,
  conversationId: string,
): Promise<void> {
  await database.query(DELETED_LONG_AGO, conversationId);
  const signingKey = await SigningKey.open({ key: null, oldKeys: [], dataDir });
  await purgeDeleted({ database, signingKey, log, restoreDays: 30 }, new AbortController().signal);
}

/** Sets the days after which messages are purged; null: never. */
export async function setMessagesDays(node: TestNode, days: number | null): Promise<void> {
  expect(
    200,
    await node.call('PUT', '/v1/account/retention', {
      messages_days: days,
      files_days: null,
      notifications_days: null,
      runs_days: null,
      audit_days: null,
    }),
  );
}

const DELETED_LONG_AGO = statement<[conversationId: string]>('test-deleted-long-ago')`
    UPDATE conversations SET deleted_at = deleted_at - interval '40 days' WHERE id = $1 AND deleted_at IS NOT NULL`;

/** Erases the person with all messages, and waits until that is done. */
export async function erasePerson(node: TestNode, actorId: string): Promise<Answer> {
  const answer = await node.call('POST', `/v1/users/${actorId}/actions/erase`, { messages: 'remove' });
  if (answer.status !== 201) return answer;
  await until(
    async () => {
      const { status } = expect(200, await node.call('GET', `/v1/erasures/${answer.body.id}`));
      if (status === 'failed') throw new Error('the erasure failed');
      return status === 'complete';
    },
    { what: 'the erasure' },
  );
  return answer;
}
