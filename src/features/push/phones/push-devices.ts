import { ApiError, invalid, notFound } from '@parley/protocol/errors/errors.ts';
import { derivedId } from '@parley/protocol/ids.ts';
import {
  type CreatePushDeviceBody,
  MAX_PUSH_DEVICES,
  PushDevice,
} from '@parley/protocol/resources/push-device.ts';
import type { Principal } from '../../../api/access/principal.ts';
import { presentAs } from '../../../core/resources/present-as.ts';
import type { Db, Querier, Tx } from '../../../platform/db/connection/handle.ts';
import { keysetList } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { announceSubscriber } from '../deliveries/audience.ts';
import { findPushApp, type PushAppRow } from './push-apps.ts';

export type PushDeviceRow = Omit<PushDevice, 'object'>;

/**
 * Registers a phone of the caller (docs/contract.md#phones). The same token is the same device, and
 * one that another user registered before becomes the caller's. Throws ApiError
 * `insufficient_permissions` (the caller is no user), `resource_not_found` (param app_id),
 * `validation_failed` (param token), or `limit_exceeded`.
 */
export async function registerDevice(
  tx: Tx,
  { accountId, actor, credential }: Principal,
  { app_id: appId, token }: CreatePushDeviceBody,
  originOf: (app: PushAppRow) => string,
): Promise<{ readonly row: PushDeviceRow; readonly isNew: boolean }> {
  const app = await findPushApp(tx, accountId, appId, 'app_id');
  if (actor.type !== 'user') {
    throw new ApiError('insufficient_permissions', 'Only users have phones: use the token of a user.');
  }
  const known = readToken(app, token);
  // Locked, so that the quota holds for concurrent requests.
  await tx.kysely.selectFrom('actors').select('id').where('id', '=', actor.id).forNoKeyUpdate().execute();
  // The phone is in the hands of another person now, who must not get what is left to be pushed.
  await tx.query(DELETE_OF_OTHERS, app.id, known, actor.id);
  const used = (await tx.query(COUNT, actor.id))[0]!.count;
  const [row] = await tx.query(
    WRITE,
    JSON.stringify({
      id: derivedId('pushDevice', JSON.stringify([actor.id, app.id, known])),
      account_id: accountId,
      actor_id: actor.id,
      app_id: app.id,
      session_id: credential.familyId ?? null,
      token: known,
      origin: originOf(app),
    }),
  );
  const { inserted: isNew, ...written } = row!;
  if (isNew && used >= MAX_PUSH_DEVICES) {
    const quota = { limit: MAX_PUSH_DEVICES, used, reset_at: null };
    throw new ApiError('limit_exceeded', 'You have as many phones as you may have. Delete one first.', {
      quota,
    });
  }
  if (used === 0) await announceSubscriber(tx, 'push_devices', accountId);
  return { row: { ...written, platform: app.platform }, isNew };
}

export function presentPushDevice(row: PushDeviceRow): PushDevice {
  return presentAs(PushDevice, row);
}

/** Apple's tokens are hexadecimal digits, and are compared without regard to their case. */
function readToken({ platform }: PushAppRow, token: string): string {
  if (platform === 'fcm') return token;
  if (/^(?:[0-9a-f]{2}){32,100}$/i.test(token)) return token.toLowerCase();
  throw invalid('token', 'Must be the hexadecimal digits of a token of Apple.');
}

/** Throws ApiError `resource_not_found` (param id), also for phones of other users. */
export async function findPushDevice(db: Db, actorId: string, id: string): Promise<PushDeviceRow> {
  const [row] = await db.query(READ_OWN, actorId, id);
  if (row === undefined) throw notFound('push device', 'id');
  return row;
}

/** Returns the deleted device. Throws ApiError like `findPushDevice`. */
export async function deletePushDevice(tx: Tx, actorId: string, id: string): Promise<PushDeviceRow> {
  const row = await findPushDevice(tx, actorId, id);
  await tx.kysely.deleteFrom('push_devices').where('id', '=', row.id).execute();
  return row;
}

/**
 * Deletes the devices of these users and sessions whose user is deactivated or whose session has
 * ended.
 */
export async function deleteEnded(db: Querier, subjects: readonly string[]): Promise<void> {
  await db.query(DELETE_ENDED, subjects);
}

/** Deletes up to `limit` devices whose session has expired. Returns their number. */
export async function deleteExpired(db: Querier, limit: number): Promise<number> {
  return (await db.query(DELETE_EXPIRED, limit)).length;
}

/** Yields the devices of a user for an export, without their tokens. */
export async function* readDevicesOf(db: Db, actorId: string): AsyncIterable<object[]> {
  yield await db.query(READ_OF_ACTOR, actorId);
}

/**
 * SQL over the device `s` of the actor `a`: whether who registered it is still signed in. A token
 * of an identity provider has no session, and ends with all tokens of its person.
 */
export const IS_SIGNED_IN = `CASE WHEN s.session_id IS NULL
        THEN a.tokens_ended_at IS NULL OR s.updated_at > a.tokens_ended_at
        ELSE EXISTS (SELECT 1 FROM refresh_tokens f WHERE f.family_id = s.session_id AND f.used_at IS NULL
          AND f.revoked_at IS NULL AND f.expires_at > clock_timestamp()) END`;

const COLUMNS = `s.id, s.app_id, p.platform, s.session_id, s.last_success_at, s.failing_since, s.created_at,
      s.updated_at`;
const WITH_APP = 'push_devices s JOIN push_apps p ON p.id = s.app_id';

/** A user's own phones, newest first. */
export const PUSH_DEVICES = keysetList<[actorId: string], PushDeviceRow>({
  name: 'list-push-devices',
  columns: COLUMNS,
  from: WITH_APP,
  where: 's.actor_id = $1',
  key: [
    ['s.created_at', 'timestamptz'],
    ['s.id', 'text'],
  ],
});

const READ_OWN = statement<[actorId: string, id: string], PushDeviceRow>('read-push-device')`
    SELECT ${COLUMNS} FROM ${WITH_APP} WHERE s.actor_id = $1 AND s.id = $2`;

const COUNT = statement<[actorId: string], { count: number }>('count-push-devices')`
    SELECT count(*) AS count FROM push_devices WHERE actor_id = $1`;

const DELETE_OF_OTHERS = statement<[appId: string, token: string, actorId: string]>(
  'delete-push-device-of-others',
)`
    DELETE FROM push_devices WHERE app_id = $1 AND sha256(token::bytea) = sha256($2::text::bytea) AND actor_id <> $3`;

// A row that was just inserted has not been locked or updated by any transaction.
const WRITE = statement<[device: string], Omit<PushDeviceRow, 'platform'> & { inserted: boolean }>(
  'write-push-device',
)`
    INSERT INTO push_devices AS s (id, account_id, actor_id, app_id, session_id, token, origin)
    SELECT * FROM json_to_record($1::json) AS n(id text, account_id text, actor_id text, app_id text, session_id text,
      token text, origin text)
    ON CONFLICT (id) DO UPDATE SET session_id = excluded.session_id, origin = excluded.origin, failures = 0,
      failing_since = NULL, updated_at = later_than(s.updated_at)
    RETURNING s.id, s.app_id, s.session_id, s.last_success_at, s.failing_since, s.created_at, s.updated_at,
      s.xmax = 0 AS inserted`;

const DELETE_ENDED = statement<[subjects: readonly string[]]>('delete-push-devices-of-ended')`
    DELETE FROM push_devices d USING push_devices s JOIN actors a ON a.id = s.actor_id
    WHERE d.id = s.id AND (s.actor_id = ANY($1) OR s.session_id = ANY($1))
      AND (a.deactivated_at IS NOT NULL OR NOT ${IS_SIGNED_IN})`;

const DELETE_EXPIRED = statement<[limit: number]>('delete-push-devices-of-expired')`
    DELETE FROM push_devices WHERE id IN (
      SELECT s.id FROM push_devices s JOIN actors a ON a.id = s.actor_id WHERE NOT ${IS_SIGNED_IN} ORDER BY s.id LIMIT $1)
    RETURNING 1`;

const READ_OF_ACTOR = statement<[actorId: string], PushDeviceRow>('read-push-devices-of-actor')`
    SELECT ${COLUMNS} FROM ${WITH_APP} WHERE s.actor_id = $1 ORDER BY s.created_at, s.id`;
