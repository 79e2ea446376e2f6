import { type DeliveryError, TRY_LIMITS } from '@parley/protocol/resources/webhook-delivery.ts';
import { childTrace, formatTraceparent, parseTraceparent } from '@parley/protocol/traceparent.ts';
import { signatureHeaders } from '../../core/events/receiver-signature.ts';
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
  const startedAt = new Date().toISOString().replace('Z', '000Z');
  const took = () => ({ startedAt, ms: Math.round(performance.now() - startedMs) });
  const body = bodyOf(delivery, data);
  const timestamp = Math.floor(Date.now() / 1_000);
  const headers: Record<string, string> = {
    ...headersOf(to, delivery),
    ...signatureHeaders(to, { id: delivery.event_id, timestamp, body }),
  };
  const trace = delivery.trace === null ? undefined : parseTraceparent(delivery.trace);
  if (trace !== undefined) headers.traceparent = formatTraceparent(childTrace(trace));
  try {
    const { status, retryAfterMs, beginning, contentType } = await posts.post({
      url: targetOf(to, delivery),
      scope: to.id,
      headers,
      body,
      timeoutMs,
      keeps: { bytes: TRY_LIMITS.answerBytes, from: 200, waitMs: ANSWER_WAIT_MS },
    });
    const answered = { ...took(), answer: textOf(beginning), contentType: textOf(contentType) };
    if (status >= 200 && status < 300) return { ...answered, result: 'delivered', statusCode: status };
    return { ...answered, result: 'failed', error: errorOf(status), statusCode: status, retryAfterMs };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    const isRefused = error.condition === 'insufficient_permissions';
    const none = { ...took(), answer: null, contentType: null };
    return { ...none, result: 'failed', error: CONDITIONS[error.condition], statusCode: null, isRefused };
  }
}

/** Returns where a delivery goes. */
export function targetOf(to: Pick<Receiver, 'target'>, { url }: Pick<Delivery, 'url'>): URL {
  return url === null ? to.target : new URL(url);
}

/** Milliseconds for which the outcome of a try waits for the text of the answer. */
const ANSWER_WAIT_MS = 250;

/** Returns a text that jsonb can store, without a character that was cut at its end. */
function textOf(text: string | null | undefined): string | null {
  return text?.replaceAll('\0', '').replace(/\ufffd$/, '') ?? null;
}

/** Returns the headers that every try has, beside its signature. */
export function headersOf(
  { version }: Pick<Receiver, 'version'>,
  { event_id }: Pick<Delivery, 'event_id'>,
): Readonly<Record<string, string>> {
  return { 'Content-Type': 'application/json', 'webhook-id': event_id, 'Service-Version': version };
}

/** Returns the body. `data` is JSON; everything else is our own text, which needs no escaping. */
export function bodyOf(
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
