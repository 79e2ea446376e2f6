import { createHmac } from 'node:crypto';
import type { DeliveryError } from '@parley/protocol/resources/webhook-delivery.ts';
import { childTrace, formatTraceparent, parseTraceparent } from '@parley/protocol/traceparent.ts';
import type { GuardedPost } from '../../platform/outbound/guarded-post.ts';
import { type OutboundCondition, OutboundError } from '../../platform/outbound/outbound-url.ts';
import type { Delivery, Outcome, Receiver } from './delivery.ts';

export interface AttemptOptions {
  readonly posts: GuardedPost;
  readonly timeoutMs: number;
}

/** Sends an event to its receiver once, following Standard Webhooks. Never rejects. */
export async function attempt(
  { posts, timeoutMs }: AttemptOptions,
  to: Receiver,
  delivery: Delivery,
  data: string,
): Promise<Outcome> {
  const startedMs = performance.now();
  const body = bodyOf(delivery, data);
  const timestamp = Math.floor(Date.now() / 1_000);
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    'webhook-id': delivery.event_id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatureOf(to, { id: delivery.event_id, timestamp, body }),
    'Service-Version': to.version,
  };
  const trace = delivery.trace === null ? undefined : parseTraceparent(delivery.trace);
  if (trace !== undefined) headers.traceparent = formatTraceparent(childTrace(trace));
  try {
    const { status, retryAfterMs } = await posts.post({
      url: to.target,
      scope: to.id,
      headers,
      body,
      timeoutMs,
    });
    const ms = Math.round(performance.now() - startedMs);
    if (status >= 200 && status < 300) return { result: 'delivered', statusCode: status, ms };
    return { result: 'failed', error: errorOf(status), statusCode: status, ms, retryAfterMs };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    const ms = Math.round(performance.now() - startedMs);
    const isRefused = error.condition === 'insufficient_permissions';
    return { result: 'failed', error: CONDITIONS[error.condition], statusCode: null, ms, isRefused };
  }
}

interface Signed {
  /** The id of the event: the same for every try. */
  readonly id: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  readonly body: string;
}

/**
 * Returns the header `webhook-signature` of Standard Webhooks. After a rotation it has a signature
 * for each of the two secrets, separated by a space.
 */
export function signatureOf(
  {
    secret,
    previous_secret: previous,
    previous_secret_until: until,
  }: Pick<Receiver, 'secret' | 'previous_secret' | 'previous_secret_until'>,
  signed: Signed,
): string {
  const newest = sign(secret, signed);
  if (previous === null || until === null || Date.parse(until) <= signed.timestamp * 1_000) return newest;
  return `${newest} ${sign(previous, signed)}`;
}

function sign(secret: Buffer, { id, timestamp, body }: Signed): string {
  return `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

/** Returns the body. `data` is JSON; everything else is our own text, which needs no escaping. */
function bodyOf(
  { event_type, occurred_at, conversation_id, sequence, head }: Delivery,
  data: string,
): string {
  let body = `{"type":"${event_type}","timestamp":"${occurred_at}"`;
  if (conversation_id !== null) body += `,"conversation_id":"${conversation_id}"`;
  if (sequence !== null) body += `,"sequence":${sequence}`;
  if (head !== null) body += `,"head":${head}`;
  return `${body},"data":${data}}`;
}

function errorOf(status: number): DeliveryError {
  if (status === 410) return 'gone';
  return status >= 300 && status < 400 ? 'redirect' : 'status';
}

// A refused address looks like an unknown host; otherwise anyone could probe the operator's DNS.
const CONDITIONS: Readonly<Record<OutboundCondition, DeliveryError>> = {
  invalid_format: 'connection_error',
  validation_failed: 'connection_error',
  insufficient_permissions: 'connection_error',
  connection_error: 'connection_error',
  timeout: 'timeout',
  external_service_error: 'invalid_response',
};
