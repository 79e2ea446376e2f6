import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import { refusedAnswer } from '../errors/parley-error.ts';
import { tried } from '../errors/tried.ts';
import type { Timing } from '../timing/timing.ts';
import type { Credential } from './credential.ts';

/** The server of a client, and the caller as whom the client speaks to it. */
export interface Server {
  /** http: or https:, without a trailing slash. Rejects with ParleyError `url_source`. */
  readonly origin: () => Promise<string>;
  /** Moves to the server that the error names for the account, if any, and returns it. */
  readonly follow: (error: ErrorObject | null | undefined) => string | undefined;
  readonly account: string;
  readonly version: string;
  readonly credential: Credential;
  readonly fetch: typeof fetch;
  /** Returns the longest wait between two tries, in milliseconds: longer in the background. */
  readonly mostWaitMs: () => number;
  readonly timing: Timing;
}

/** Returns the headers of every JSON request. */
export function requestHeaders(
  { account, version }: Pick<Server, 'account' | 'version'>,
  token: string,
): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    'service-version': version,
    'service-account': account,
    'content-type': 'application/json',
  };
}

/** Returns the JSON of an answer. Rejects with ParleyError if it is a refusal, or not JSON. */
export async function answerOf(response: Response): Promise<object> {
  const text = await response.text();
  const answer: (object & { readonly error?: ErrorObject | null }) | null | undefined = tried(() =>
    JSON.parse(text),
  );
  if (response.ok && answer) return answer;
  const error = answer?.error ?? null;
  const retryAfterS = Number(response.headers.get('retry-after') ?? 0);
  throw refusedAnswer(response.status, error, retryAfterS > 0 ? retryAfterS * 1_000 : null);
}
