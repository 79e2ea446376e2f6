import { type Static, Type } from 'typebox';
import { describe, Timestamp } from '../schema/schema.ts';

/**
 * A credential that opens one socket without a key or token in the URL (docs/realtime.md#opening).
 */
export const RealtimeTicket = Type.Object({
  object: Type.Literal('realtime_ticket'),
  /** The value for `?ticket=`; shown once. */
  ticket: Type.String(),
  expires_at: Timestamp,
});
export type RealtimeTicket = Static<typeof RealtimeTicket>;

describe(RealtimeTicket, {
  ticket: 'The ticket, shown this once. It goes into `?ticket=` of the address of one socket.',
  expires_at: 'When the ticket can no longer be used.',
});
