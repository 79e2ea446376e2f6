import { toEmoji } from '@parley/protocol/emoji.ts';
import { ApiError, invalid, missingField, repeated } from '@parley/protocol/errors/errors.ts';
import {
  type ImportedMessageInput,
  MESSAGE_IMPORT_LIMITS,
} from '@parley/protocol/resources/imported-message.ts';
import { REACTION_LIMITS } from '@parley/protocol/resources/reaction.ts';
import { checkAttachment } from '../../../core/messages/rules/send-rules.ts';
import type { Db } from '../../../platform/db/connection/handle.ts';
import { statement } from '../../../platform/db/connection/statement.ts';

/** Checks the messages of a call beyond their schema. Throws ApiError. */
export async function checkImportedMessages(
  db: Db,
  messages: readonly ImportedMessageInput[],
): Promise<void> {
  const places = placesOf(messages);
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    within(at, () => checkContent(message));
    checkReply(message, index, places);
    checkReactions(message, at);
    if (message.pinned_at !== undefined && message.pinned_by === undefined) {
      throw missingField(`${at}.pinned_by`);
    }
  }
  await checkTimes(db, messages);
}

/** Runs a check of one message and makes its errors name the field within the call. */
function within<T>(at: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw placed(error, at);
  }
}

/** Returns an error of one message as an error of the call. */
export function placed(error: unknown, at: string): unknown {
  if (!(error instanceof ApiError) || error.param === null) return error;
  const { condition, message, param, cause } = error;
  return new ApiError(condition, message, { param: `${at}.${param}`, cause });
}

/** Returns the index of each client_message_id. Throws for a duplicate. */
function placesOf(messages: readonly ImportedMessageInput[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [index, { client_message_id }] of messages.entries()) {
    if (places.has(client_message_id)) throw repeated(`messages[${index}].client_message_id`);
    places.set(client_message_id, index);
  }
  return places;
}

const WITHOUT_CONTENT = ['body', 'mentions', 'attachments', 'reactions', 'pinned_by', 'pinned_at'] as const;

function checkContent(message: ImportedMessageInput): void {
  const { body, attachments = [], deleted_at } = message;
  if (deleted_at === undefined) {
    if (!body && attachments.length === 0) throw missingField('body');
  } else {
    const extra = WITHOUT_CONTENT.find((field) => message[field] !== undefined);
    if (extra !== undefined) throw invalid(extra, 'A deleted message has no content.');
  }
  for (const [index, attachment] of attachments.entries()) checkAttachment(attachment, index);
}

function checkReply(
  { reply_to_client_message_id: key, reply_to_message_id: id }: ImportedMessageInput,
  index: number,
  places: ReadonlyMap<string, number>,
): void {
  if (key === undefined) return;
  const param = `messages[${index}].reply_to_client_message_id`;
  if (id !== undefined) throw invalid(param, 'Must not stand beside reply_to_message_id.');
  if ((places.get(key) ?? -1) >= index) throw invalid(param, 'Must name a message in front of this one.');
}

function checkReactions({ reactions = [] }: ImportedMessageInput, at: string): void {
  const seen = new Set<string>();
  const kinds = new Set<string>();
  for (const [index, { emoji: text, actor_id }] of reactions.entries()) {
    const param = `${at}.reactions[${index}]`;
    const emoji = toEmoji(text);
    if (emoji === undefined) throw invalid(`${param}.emoji`, 'Must be one emoji.');
    if (seen.has(`${emoji} ${actor_id}`)) throw repeated(param);
    seen.add(`${emoji} ${actor_id}`);
    kinds.add(emoji);
    if (kinds.size > REACTION_LIMITS.kinds) {
      throw invalid(`${param}.emoji`, `A message can have ${REACTION_LIMITS.kinds} different emojis.`);
    }
  }
}

const TIMES = ['created_at', 'edited_at', 'deleted_at', 'pinned_at'] as const;

/** Checks by Postgres' clock that the latest time, and so every time, is not in the future. */
async function checkTimes(db: Db, messages: readonly ImportedMessageInput[]): Promise<void> {
  const earliestMs = Date.parse(MESSAGE_IMPORT_LIMITS.earliest);
  let latest = { ms: earliestMs, time: MESSAGE_IMPORT_LIMITS.earliest as string, param: '' };
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    const times = [
      ...TIMES.map((field) => ({ time: message[field], param: `${at}.${field}` })),
      ...(message.reactions ?? []).map(({ created_at }, place) => ({
        time: created_at,
        param: `${at}.reactions[${place}].created_at`,
      })),
    ];
    const writtenMs = Date.parse(message.created_at);
    for (const { time, param } of times) {
      if (time === undefined) continue;
      const ms = Date.parse(time);
      if (ms < earliestMs) throw invalid(param, 'Must not be before 1970.');
      if (ms < writtenMs) throw invalid(param, 'Must not be before the created_at of the message.');
      if (ms > latest.ms) latest = { ms, time, param };
    }
  }
  const [found] = await db.query(READ_IS_PAST, latest.time);
  if (!found!.past) throw invalid(latest.param, 'Must not be in the future.');
}

const READ_IS_PAST = statement<[time: string], { past: boolean }>('read-is-past')`
    SELECT $1::timestamptz <= clock_timestamp() AS past`;
