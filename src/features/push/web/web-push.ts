import type { GuardedPost } from '../../../platform/outbound/guarded-post.ts';
import { OutboundError, readOutboundUrl } from '../../../platform/outbound/outbound-url.ts';
import type { Tried, Verdict } from '../deliveries/channel.ts';
import { PUSHED_FOR_MS } from '../deliveries/times.ts';
import { type BrowserPush, payloadOf, topicOf } from './payload.ts';
import type { Vapid } from './vapid.ts';

export interface WebPushOptions {
  readonly post: Pick<GuardedPost, 'post'>;
  readonly vapid: Vapid;
}

/** Milliseconds until a try is given up. */
const TRY_MS = 10_000;
/** Bytes kept of a refusal: the reason of Apple, Google and Mozilla is in the first 200. */
const REFUSAL_BYTES = 500;

/** Encrypts a notification (RFC 8291) and sends it to the push service (RFC 8030). */
export async function attempt({ post, vapid }: WebPushOptions, row: BrowserPush): Promise<Tried> {
  try {
    const url = readOutboundUrl(row.endpoint);
    const { headers, body } = await encrypted(row, await vapid.authorization(url.origin));
    const { status, retryAfterMs, beginning } = await post.post({
      url,
      scope: 'push',
      headers,
      body,
      timeoutMs: TRY_MS,
      keeps: { bytes: REFUSAL_BYTES, from: 400 },
    });
    return { verdict: verdictOn(status), reason: `${status} ${beginning ?? ''}`.trim(), retryAfterMs };
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
  row: BrowserPush,
  authorization: string,
): Promise<{ readonly headers: Readonly<Record<string, string>>; readonly body: Buffer }> {
  // Imported here because a node without subscriptions does not need it.
  const { default: webPush } = await import('web-push');
  const { p256dh, auth, priority } = row;
  const topic = topicOf(row);
  // The library reads the endpoint only to log lines about Google's former service.
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

const FAILURES: ReadonlySet<string> = new Set(['connection_error', 'timeout', 'external_service_error']);

/** Returns the verdict. Redirects are not followed, because endpoints do not move (RFC 8030). */
function verdictOn(status: number): Verdict {
  if (status >= 200 && status < 300) return 'accepted';
  if (status === 404 || status === 410) return 'gone';
  if (status === 429) return 'busy';
  return status >= 500 || status === 408 ? 'failed' : 'refused';
}
