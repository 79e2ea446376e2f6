import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';
import type { ConnectionEnd } from './connection-end.ts';

/** Every `reason` of the client's `error` event, with its meaning. */
export const CLIENT_ERRORS = {
  network: 'The server cannot be reached, or the connection was lost.',
  server_busy: 'The server is overloaded, or limits the rate.',
  server_error: 'The server failed.',
  url_source: 'The url function failed, returned no URL, or took longer than 10 s.',
  url_rejected: 'The platform allows no socket to this URL.',
  token_source: 'getToken failed, returned no token, or took longer than 10 s.',
  credential_rejected: 'The server does not accept the key or token.',
  account_rejected: 'The account is another one, or has no subscription.',
  version_rejected: 'The server does not support this version.',
  origin_rejected: 'The server does not allow pages of this origin.',
  forbidden: 'The caller may not open a socket.',
  protocol: 'Client and server do not understand each other.',
  store: 'The store failed: what waits may be lost.',
} as const;

/** A key of CLIENT_ERRORS. */
export type ClientErrorReason = keyof typeof CLIENT_ERRORS;

/** The reason why the client is not connected, a request is repeated, or the store is unused. */
export interface ClientError {
  /** For branching; CLIENT_ERRORS says what each means. */
  readonly reason: ClientErrorReason;
  /** For logs, not for branching. */
  readonly message: string;
  /** The server's error object, the close code, or the thrown error, if there is one. */
  readonly error?: ErrorObject | ConnectionEnd | Error;
  /** The `client_message_id` of a message that the store could not keep. */
  readonly key?: string;
  /** False: the client has given up, and `end` follows. */
  readonly willRetry: boolean;
  /** Tries that have failed for this reason since the client was live, with this one. */
  readonly attempt: number;
}

export function clientError(
  reason: ClientErrorReason,
  willRetry: boolean,
  error?: ErrorObject | ConnectionEnd | Error,
): ClientError {
  const detail = error && ('message' in error ? error.message : error.reason);
  const message = detail ? `${CLIENT_ERRORS[reason]} ${detail}` : CLIENT_ERRORS[reason];
  return { reason, message, willRetry, attempt: 1, ...(error && { error }) };
}

/** Returns undefined for an end in normal operation. */
export function reasonOfEnd({ code, error }: ConnectionEnd): ClientErrorReason | undefined {
  // The header of REST, or the field of an `authenticate` frame.
  const isOfAccount = error?.param === 'Service-Account' || error?.param === 'account';
  if (isOfAccount || error?.code === 'payment_required') return 'account_rejected';
  const key = code in REASONS ? code : Math.floor(code / 100);
  return key in REASONS ? REASONS[key] : 'network';
}

/**
 * The reasons by the band of a code, and by code where they are others
 * (packages/protocol/socket/close-codes.ts). An announced stop is no error here; a lost cursor is
 * `onStale` of the subscriptions. The client itself closes with 1000 to start over, with 3000 for a
 * frame that is not JSON.
 */
const REASONS: Readonly<Record<number, ClientErrorReason | undefined>> = {
  41: 'server_busy',
  42: 'credential_rejected',
  44: 'protocol',
  1000: undefined,
  3000: 'protocol',
  4000: undefined,
  4201: 'network',
  4300: undefined,
  4401: 'version_rejected',
  4403: 'forbidden',
};
