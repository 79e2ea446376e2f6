import { ApiError } from '@parley/protocol/errors/errors.ts';
import { PIN_LIMITS } from '@parley/protocol/resources/pin.ts';
import type { MessagePinned } from '@parley/protocol/socket/event-data.ts';
import type { Principal } from '../../../api/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { keysetList } from '../../../platform/db/connection/keyset.ts';
import { statement } from '../../../platform/db/connection/statement.ts';
import { setTouched } from '../../../platform/db/tables/touched.ts';
import { conversationGone, requireUnblocked, requireWriter } from '../../conversations/directory/access.ts';
import { lockConversation } from '../../conversations/rows/conversation-store.ts';
import { enqueueRowsChanged } from '../../events/changes.ts';
import { eventSource } from '../../events/event-source.ts';
import { partOf } from '../../frames/frame.ts';
import type { DomainEvent } from '../../frames/publish.ts';
import type { MessageKey } from '../../resources/message.ts';
import { lockMessage } from '../rows/message-store.ts';
import { requireSent, requireThere } from '../rules/edit-rules.ts';
import type { Readable } from '../rules/readable-message.ts';

/** Pins a sent message, or unpins a message; no-op if nothing changes. Throws ApiError. */
export async function setPin(
  tx: Tx,
  principal: Principal,
  { row, facts }: Readable,
  move: 'pin' | 'unpin',
): Promise<PinState> {
  if (move === 'pin') requireUnblocked(principal, facts);
  requireWriter(facts.members.get(principal.actor.id));
  // The lock keeps the number of the conversation's pins exact.
  const { deleted_at } = await lockConversation(tx, row.conversation_id);
  if (deleted_at !== null) throw conversationGone();
  const current = await lockMessage(tx, row);
  requireThere(current);
  if (move === 'unpin') return removePin(tx, current);
  requireSent(current, 'cannot be pinned. Only sent ones can.');
  const [state] = await tx.query(READ, current.id);
  if (state !== undefined && state.pinned_at !== null) return state;
  const [used] = await tx.query(COUNT, current.conversation_id);
  if (used!.pins >= PIN_LIMITS.ofConversation) throw tooManyPins(used!.pins);
  return writePin(tx, current, principal.actor.id);
}

function tooManyPins(used: number): ApiError {
  const limit = PIN_LIMITS.ofConversation;
  return new ApiError('limit_exceeded', `A conversation can have ${limit} pins. Unpin a message first.`, {
    quota: { limit, used, reset_at: null },
  });
}

/** Both fields are null if the message is not pinned. */
export interface PinState {
  readonly pinned_by: string | null;
  readonly pinned_at: string | null;
}

export interface PinRow extends PinState {
  readonly message_id: string;
  readonly pinned_at: string;
}

/** Pins a message that is not pinned, or unpins it with null. The event follows the commit. */
export async function writePin(tx: Tx, message: MessageKey, by: string | null): Promise<PinState> {
  const [state] = await tx.query(WRITE, message.id, message.conversation_id, by);
  await enqueueRowsChanged(tx, 'message.pinned', [message]);
  return state!;
}

/** Unpins a locked message, if it is pinned. */
export async function removePin(tx: Tx, message: MessageKey): Promise<PinState> {
  const [state = NOT_PINNED] = await tx.query(READ, message.id);
  return state.pinned_at === null ? state : writePin(tx, message, null);
}

const NOT_PINNED: PinState = { pinned_by: null, pinned_at: null };

const READ = statement<[messageId: string], PinState>('read-pin')`
    SELECT pinned_by, pinned_at FROM pins WHERE message_id = $1 FOR UPDATE`;

const COUNT = statement<[conversationId: string], { pins: number }>('count-pins')`
    SELECT count(*) AS pins FROM pins WHERE conversation_id = $1 AND pinned_at IS NOT NULL`;

const WRITE = statement<[messageId: string, conversationId: string, by: string | null], PinState>(
  'write-pin',
)`
    INSERT INTO pins (message_id, conversation_id, pinned_by, pinned_at)
    VALUES ($1, $2, $3, CASE WHEN $3::text IS NOT NULL THEN clock_timestamp() END)
    ON CONFLICT (message_id) DO UPDATE
      SET pinned_by = excluded.pinned_by, pinned_at = excluded.pinned_at, ${setTouched('later_than(pins.updated_at)')}
    RETURNING pinned_by, pinned_at`;

/** The pinned messages of a conversation, the last pinned first. */
export const PINS = keysetList<[conversationId: string], PinRow>({
  name: 'list-pins',
  columns: 'p.message_id, p.pinned_by, p.pinned_at',
  from: 'pins p',
  where: 'p.conversation_id = $1 AND p.pinned_at IS NOT NULL',
  key: [
    ['p.pinned_at', 'timestamptz'],
    ['p.message_id', 'text'],
  ],
});

/** `message.pinned`, for the team: whether a message is pinned. */
export const pinEvents = eventSource({
  events: ['message.pinned'],
  async read({ database }, changes) {
    const ids = [...new Set(changes.map(({ id }) => id))];
    return (await database.query(READ_PINS, ids)).map(pinEvent);
  },
  changed: {
    conversation: {
      arm: { part: 'pins', rows: 'pins p WHERE p.conversation_id = s.id AND p.changed_in >= $3::xid8' },
      async since({ database }, conversationIds, since) {
        return (await database.query(READ_CHANGED, conversationIds, since.xid)).map(pinEvent);
      },
    },
  },
});

interface ChangedPin extends MessagePinned {
  readonly conversation_id: string;
  readonly sequence: number;
  readonly at: string;
}

function pinEvent({ conversation_id, sequence, at, ...data }: ChangedPin): DomainEvent {
  return {
    event: 'message.pinned',
    stream: conversation_id,
    conversationId: conversation_id,
    sequence,
    resource: partOf(data.message_id, 'pin'),
    at,
    team: data,
    customer: undefined,
  };
}

const CHANGED_PINS = `
    SELECT p.message_id, p.pinned_by, p.pinned_at, p.conversation_id, m.sequence, p.updated_at AS at
    FROM pins p JOIN messages m ON m.id = p.message_id AND m.conversation_id = p.conversation_id AND m.status = 'sent'`;

const READ_PINS = statement<[messageIds: readonly string[]], ChangedPin>('read-changed-pins-by-message')`
    ${CHANGED_PINS} WHERE p.message_id = ANY($1) ORDER BY p.updated_at`;

const READ_CHANGED = statement<[conversationIds: readonly string[], sinceXid: string], ChangedPin>(
  'read-changed-pins',
)`
    ${CHANGED_PINS} WHERE p.conversation_id = ANY($1) AND p.changed_in >= $2::xid8 ORDER BY p.updated_at`;
