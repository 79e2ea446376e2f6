import { type Static, Type } from 'typebox';
import { ERRORS, type ErrorCondition } from './errors.ts';
import { Nullable, OneOf, Timestamp } from './schema.ts';

/** Every `code` that can stand on the wire: some conditions share one. */
export const ERROR_CODES: readonly string[] = [
  ...new Set((Object.keys(ERRORS) as ErrorCondition[]).map(codeOf)),
];

export const ERROR_TYPES = ['invalid_request_error', 'api_error', 'idempotency_error'] as const;

/** The value of `error` (specification, Errors: Envelope); errors.ts makes it. */
export const ErrorDetail = Type.Object(
  {
    code: OneOf(ERROR_CODES),
    type: OneOf(ERROR_TYPES),
    message: Type.String(),
    param: Nullable(Type.String()),
    doc_url: Type.String(),
    is_transient: Type.Boolean(),
    quota: Type.Optional(
      Type.Object({
        limit: Type.Integer(),
        used: Type.Integer(),
        reset_at: Nullable(Timestamp),
      }),
    ),
    request_log_url: Nullable(Type.String()),
  },
  { title: 'error_detail' },
);

/** What every refusal answers, whatever its status. */
export const ErrorEnvelope = Type.Object({ error: ErrorDetail }, { title: 'error' });
export type ErrorEnvelope = Static<typeof ErrorEnvelope>;

/** The code on the wire of a condition. */
export function codeOf(condition: ErrorCondition): string {
  const entry = ERRORS[condition];
  return 'code' in entry ? entry.code : condition;
}
