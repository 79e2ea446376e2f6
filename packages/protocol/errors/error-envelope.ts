import { type Static, Type } from 'typebox';
import { describe, Nullable, OneOf, Timestamp } from '../schema/schema.ts';
import { type ApiError, ERRORS, type ErrorCondition } from './errors.ts';

/** Every `code` that appears on the wire; some conditions share one. */
export const ERROR_CODES: readonly string[] = [
  ...new Set((Object.keys(ERRORS) as ErrorCondition[]).map(codeOf)),
];

const ERROR_TYPES = ['invalid_request_error', 'api_error', 'idempotency_error'] as const;

const Quota = Type.Object({ limit: Type.Integer(), used: Type.Integer(), reset_at: Nullable(Timestamp) });
describe(Quota, {
  limit: 'How many the plan allows.',
  used: 'How many there are.',
  reset_at: 'When the count starts again. Null if it does not.',
});

/** The value of `error` (docs/contract.md#errors), over REST and in socket replies alike. */
export const ErrorObject = Type.Object(
  {
    code: OneOf(ERROR_CODES),
    type: OneOf(ERROR_TYPES),
    message: Type.String(),
    param: Nullable(Type.String()),
    doc_url: Type.String(),
    is_transient: Type.Boolean(),
    quota: Type.Optional(Quota),
    cell_url: Type.Optional(Type.String()),
    request_log_url: Nullable(Type.String()),
  },
  { title: 'error_detail' },
);
export type ErrorObject = Static<typeof ErrorObject>;

describe(ErrorObject, {
  code: 'The exact condition, for programs to branch on. Codes may be added, for every version: treat one that is not known by its `type` and `is_transient`. `account_in_other_cell` came with 1.2.harbor.',
  type: 'Class of the error: `invalid_request_error` needs another request, `api_error` may pass, `idempotency_error` is about the Idempotency-Key.',
  message: 'The error for people. The wording may change.',
  param:
    'The field, parameter or header at fault, such as `attachments[0].url`. Null where no single one is.',
  doc_url: 'Where the documentation explains the code.',
  is_transient: 'Whether sending the same request again later may succeed.',
  quota: 'The limit of the plan that was reached. Present only for `limit_exceeded`.',
  cell_url:
    'The public URL of the installation that has the account. Present only for `account_in_other_cell`. It came with 1.2.harbor and is shown to callers of every version.',
  request_log_url: 'Where the log of the request can be read. Null where none is kept.',
});

/** The body of every refusal, whatever its status. */
export const ErrorEnvelope = Type.Object({ error: ErrorObject }, { title: 'error' });

describe(ErrorEnvelope, { error: 'What is wrong with the request, or with the service.' });

/** Returns the code of a condition on the wire. */
export function codeOf(condition: ErrorCondition): string {
  return ERRORS[condition].code ?? condition;
}

/** Returns an error object. `requestLogUrl` is configured too, or null without a log to link to. */
export function toErrorObject(error: ApiError, docsUrl: string, requestLogUrl: string | null): ErrorObject {
  const { type, transient, anchor } = ERRORS[error.condition];
  const code = codeOf(error.condition);
  return {
    code,
    type,
    message: error.message,
    param: error.param,
    doc_url: `${docsUrl}/api/errors#${anchor ?? code}`,
    is_transient: transient,
    ...(error.quota === undefined ? {} : { quota: error.quota }),
    ...(error.cellUrl === undefined ? {} : { cell_url: error.cellUrl }),
    request_log_url: requestLogUrl,
  };
}
