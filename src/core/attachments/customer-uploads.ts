import { ApiError } from '@parley/protocol/errors/errors.ts';
import { CUSTOMER_UPLOADS } from '@parley/protocol/resources/customer-uploads.ts';
import { FILE_URL_S } from '@parley/protocol/resources/upload.ts';
import type { Principal } from '../../api/access/principal.ts';
import type { Tx } from '../../platform/db/connection/handle.ts';
import { statement } from '../../platform/db/connection/statement.ts';
import { lockWritingCustomer } from '../resources/actor.ts';

/**
 * Requires that the customer may upload one more file of this size. Its other requests wait until
 * the transaction ends. Throws ApiError `limit_exceeded` with the quota, `insufficient_permissions`
 * if the team has blocked the customer, or `invalid_credentials` if the customer has been
 * deactivated or claimed meanwhile.
 */
export async function requireRoomOfCustomer(
  tx: Tx,
  { actor, credential }: Principal,
  sizeBytes: number,
): Promise<void> {
  await lockWritingCustomer(tx, actor.id);
  const [recent] = await tx.query(READ_RECENT, actor.id);
  const { open, room_at, bytes, day_ends_at } = recent!;
  const { open: most, visitorBytesADay: limit } = CUSTOMER_UPLOADS;
  if (open >= most) {
    const message = `A customer can have ${most} uploads that no message has. Send a message with them, or try later.`;
    throw new ApiError('limit_exceeded', message, { quota: { limit: most, used: open, reset_at: room_at } });
  }
  if (credential.widgetId === undefined || bytes + sizeBytes <= limit) return;
  throw new ApiError('limit_exceeded', `A visitor can upload ${limit} bytes a day. Try again tomorrow.`, {
    param: 'size_bytes',
    quota: { limit, used: bytes, reset_at: day_ends_at },
  });
}

interface Recent {
  readonly open: number;
  /** When the oldest open upload no longer counts. */
  readonly room_at: string | null;
  /** The bytes of 24 hours. */
  readonly bytes: number;
  /** When the oldest of these bytes no longer count. */
  readonly day_ends_at: string | null;
}

const READ_RECENT = statement<[actorId: string], Recent>('read-recent-uploads-of-customer')`
    SELECT count(*) FILTER (WHERE is_open) AS open,
      min(created_at) FILTER (WHERE is_open) + interval '${FILE_URL_S} seconds' AS room_at,
      coalesce(sum(size_bytes), 0)::float8 AS bytes, min(created_at) + interval '1 day' AS day_ends_at
    FROM (
      SELECT u.created_at, u.size_bytes, u.withdrawn_at IS NULL
        AND u.created_at > clock_timestamp() - interval '${FILE_URL_S} seconds'
        AND NOT EXISTS (SELECT FROM attachments a WHERE a.s3_key = u.s3_key) AS is_open
      FROM uploads u WHERE u.actor_id = $1 AND u.created_at > clock_timestamp() - interval '1 day'
    ) AS recent`;
