import type { GuardedPost } from '../../platform/outbound/guarded-post.ts';
import { OutboundError, readOutboundUrl } from '../../platform/outbound/outbound-url.ts';
import type { Pushed } from './delivery-store.ts';
import { payloadOf, topicOf } from './payload.ts';
import { PUSHED_FOR_MS } from './times.ts';
import type { Vapid } from './vapid.ts';

export interface AttemptOptions {
  readonly post: Pick<GuardedPost, 'post'>;
  readonly vapid: Vapid;
}

/** Milliseconds until a try is given up. */
const TRY_MS = 10_000;

/**
 * What a push service did with a push: `accepted`; `gone`: the subscription has ended; `refused`:
 * another try would be refused as well; `busy`: it was too much at once; `failed`: another try may
 * succeed.
 */
export type Verdict = 'accepted' | 'gone' | 'refused' | 'busy' | 'failed';

export interface Tried {
  readonly verdict: Verdict;
  /** The status of the response, or the condition of the failure. */
  readonly reason: string;
  /** Milliseconds that the push service asks to wait; undefined if it does not. */
  readonly retryAfterMs: number | undefined;
}

/**
 * Encrypts a notification for its subscription (RFC 8291) and sends it to the push service (RFC
 * 8030).
 */
export async function attempt({ post, vapid }: AttemptOptions, row: Pushed): Promise<Tried> {
  try {
    const url = readOutboundUrl(row.endpoint);
    const { headers, body } = await encrypted(row, await vapid.authorization(url.origin));
    const { status, retryAfterMs } = await post.post({
      url,
      scope: 'push',
      headers,
      body,
      timeoutMs: TRY_MS,
    });
    return { verdict: verdictOn(status), reason: String(status), retryAfterMs };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    const { condition } = error;
    return {
      verdict: FAILURES.has(condition) ? 'failed' : 'refused',
      reason: condition,
      retryAfterMs: undefined,
    };
  }
}

async function encrypted(
  row: Pushed,
  authorization: string,
): Promise<{ readonly headers: Readonly<Record<string, string>>; readonly body: Buffer }> {
  // Loaded here, since a node without subscriptions needs none of it.
  const { default: webPush } = await import('web-push');
  const { p256dh, auth, priority } = row;
  const topic = topicOf(row);
  // Of the endpoint the library wants to know whether it is one of Google's former service, about
  // which it writes lines.
  const subscription = { endpoint: 'https://push.invalid', keys: { p256dh, auth } };
  const { headers, body } = webPush.generateRequestDetails(subscription, payloadOf(row), {
    headers: { Authorization: authorization },
    TTL: PUSHED_FOR_MS / 1_000,
    urgency: priority,
    ...(topic !== undefined && { topic }),
  });
  const { 'Content-Length': _, ...others } = headers as Readonly<Record<string, string | number>>;
  return {
    headers: Object.fromEntries(Object.entries(others).map(([name, value]) => [name, String(value)])),
    body,
  };
}

/** The conditions under which another try may succeed. */
const FAILURES: ReadonlySet<string> = new Set(['connection_error', 'timeout', 'external_service_error']);

/** A redirect is not followed: endpoints do not move (RFC 8030). */
function verdictOn(status: number): Verdict {
  if (status >= 200 && status < 300) return 'accepted';
  if (status === 404 || status === 410) return 'gone';
  if (status === 429) return 'busy';
  return status >= 500 || status === 408 ? 'failed' : 'refused';
}
