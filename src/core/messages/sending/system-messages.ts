import type { SystemEvent } from '../../conversations/outbox-topics.ts';
import { readOwnAct } from '../../conversations/participants/own-act.ts';
import { TEXT_ALONE } from '../rows/new-message.ts';
import type { WritePath } from '../timeline/write-path.ts';

type Parts = Parameters<typeof readOwnAct>[0] & { readonly writePath: Pick<WritePath, 'append'> };

/** Writes the message of an outbox row (SYSTEM_EVENT) once, however often it is called. */
export async function appendSystemEvent(parts: Parts, { by, ...event }: SystemEvent): Promise<void> {
  const { row } = await parts.writePath.append({
    message: {
      ...TEXT_ALONE,
      ...event,
      kind: 'system_event',
      sender_id: null,
      author_id: null,
    },
    sender: null,
    audience: event.visibility === 'system' ? 'customer' : 'internal',
  });
  const actorId = by ?? event.event?.by ?? null;
  if (actorId !== null) await readOwnAct(parts, row, actorId);
}
