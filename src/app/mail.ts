import { handle } from '../db/topic.ts';
import { openMailKey } from '../mail/mail-key.ts';
import { makeReply } from '../mail/outgoing.ts';
import { EMAIL_DUE } from '../messages/outbox-topics.ts';
import type { Data } from './data.ts';
import type { PartOptions } from './part.ts';

export type Mail = Awaited<ReturnType<typeof openMail>>;

/** Opens the mail bridge. */
export async function openMail(_part: PartOptions, { database }: Data) {
  const key = await openMailKey(database);
  const handlers = [handle(EMAIL_DUE, (due) => makeReply({ database, key, onDue: () => {} }, due))];
  return { key, handlers };
}
