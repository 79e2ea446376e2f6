import { ApiError } from '../../../contract/protocol/errors.ts';
import { PIN_LIMITS } from '../../../contract/protocol/resources/pin.ts';
import type { Principal } from '../../../platform/access/principal.ts';
import type { Tx } from '../../../platform/db/connection/handle.ts';
import { conversationGone, requireUnblocked, requireWriter } from '../../conversations/access.ts';
import { lockConversation } from '../../conversations/conversation-store.ts';
import { requireThere } from '../editing/edit-rules.ts';
import type { Readable } from '../reading/readable-message.ts';
import { lockMessage } from '../store.ts';
import { countPins, type PinState, readPin, writePin } from './pin-store.ts';

/** Pins a message that was sent; a second time changes nothing. Throws ApiError. */
export async function pinMessage(tx: Tx, principal: Principal, message: Readable): Promise<PinState> {
  requireUnblocked(principal, message.facts);
  const current = await lockForPin(tx, principal, message);
  if (current.status !== 'sent') {
    const why = `A message that is ${current.status} cannot be pinned. Only sent ones can.`;
    throw new ApiError('resource_conflict', why);
  }
  const state = await readPin(tx, current);
  if (state.pinned_at !== null) return state;
  const used = await countPins(tx, current.conversation_id);
  if (used >= PIN_LIMITS.ofConversation) throw tooManyPins(used);
  return writePin(tx, current, principal.actor.id);
}

/** Unpins a message; where it is not pinned, nothing changes. Throws ApiError. */
export async function unpinMessage(tx: Tx, principal: Principal, message: Readable): Promise<PinState> {
  const current = await lockForPin(tx, principal, message);
  const state = await readPin(tx, current);
  return state.pinned_at === null ? state : writePin(tx, current, null);
}

/** The lock of the conversation keeps the number of its pins exact. */
async function lockForPin(tx: Tx, principal: Principal, { row, facts }: Readable) {
  requireWriter(facts.members.get(principal.actor.id));
  const { deleted_at } = await lockConversation(tx, row.conversation_id);
  if (deleted_at !== null) throw conversationGone();
  const current = await lockMessage(tx, row);
  requireThere(current);
  return current;
}

function tooManyPins(used: number): ApiError {
  const limit = PIN_LIMITS.ofConversation;
  return new ApiError('limit_exceeded', `A conversation can have ${limit} pins. Unpin a message first.`, {
    quota: { limit, used, reset_at: null },
  });
}
