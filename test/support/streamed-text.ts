import { createHash } from 'node:crypto';
import type {
  MessageDelta,
  MessageReset,
  MessageSnapshot,
  StreamSeal,
} from '@parley/protocol/socket/event-data.ts';
import type { ReceivedFrame } from '../gateway/fixture.ts';

/** Returns the joined pieces of a message. Throws if a piece does not follow the previous one. */
export function streamedText(
  frames: readonly ReceivedFrame[],
  messageId: string,
): { readonly attempt: number; readonly body: string } {
  let text = { attempt: 1, body: '' };
  for (const { event, data } of frames) {
    if (event === 'message.created' && data?.id === messageId) text = { attempt: 1, body: String(data.body) };
    if (data?.message_id === messageId && event !== undefined) text = add(text, event, data);
  }
  return text;
}

/** Returns the seal that ends a stream. */
export function sealOf(body: string, attempt: number): StreamSeal {
  return { attempt, length: body.length, sha256: createHash('sha256').update(body).digest('hex') };
}

function add(before: { attempt: number; body: string }, event: string, data: object) {
  if (event === 'message.snapshot') {
    const { attempt, body } = data as MessageSnapshot;
    return { attempt, body };
  }
  if (event === 'message.reset') {
    const { attempt, keep } = data as MessageReset;
    const follows = attempt === before.attempt + 1 && keep <= before.body.length;
    if (!follows) throw new Error(`the reset to attempt ${attempt} comes behind attempt ${before.attempt}`);
    return { attempt, body: before.body.slice(0, keep) };
  }
  const { attempt, offset, text } = data as MessageDelta;
  const follows = attempt === before.attempt && offset === before.body.length;
  if (!follows) throw new Error(`a piece at ${offset} comes behind ${before.body.length}`);
  return { attempt, body: before.body + text };
}
