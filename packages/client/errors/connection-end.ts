import type { ErrorObject } from '@parley/protocol/errors/error-envelope.ts';

/** The end of a connection. */
export interface ConnectionEnd {
  /** 1006 without a close frame. */
  readonly code: number;
  /** For logs: the text of the close frame, or what the client noticed. */
  readonly reason: string;
  /** Why the server refused the caller, if known. */
  readonly error?: ErrorObject;
}
