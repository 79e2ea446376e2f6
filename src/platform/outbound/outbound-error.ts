/**
 * A condition of the error table: `invalid_format` and `validation_failed` (not a URL that may be
 * requested), `insufficient_permissions` (a forbidden address or host), `connection_error` (no
 * connection, or it broke), `timeout`, `external_service_error` (a response that cannot be read).
 */
export type OutboundCondition =
  | 'invalid_format'
  | 'validation_failed'
  | 'insufficient_permissions'
  | 'connection_error'
  | 'timeout'
  | 'external_service_error';

/**
 * A request to another host that was refused or failed. The message holds nothing that the host
 * sent.
 */
export class OutboundError extends Error {
  readonly condition: OutboundCondition;

  constructor(condition: OutboundCondition, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'OutboundError';
    this.condition = condition;
  }
}
