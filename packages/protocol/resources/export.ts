import { type Static, Type } from 'typebox';
import { describe, Identity, Nullable, OneOf, Timestamp } from '../schema/schema.ts';

/** Days for which the file of an export is kept. */
export const EXPORT_DAYS = 7;

/** The progress of a job. `total` may grow while it looks for its work. */
export const Progress = Type.Object({
  done: Type.Integer({ minimum: 0 }),
  total: Type.Integer({ minimum: 0 }),
});

describe(Progress, {
  done: 'Parts of the work that are done: messages and files.',
  total: 'Parts that are known so far, 0 before the work began.',
});

/** A signed file of a conversation, or of all about a person (docs/contract.md#exports). */
export const Export = Type.Object({
  ...Identity('export'),
  subject_type: OneOf(['conversation', 'user']),
  subject_id: Type.String(),
  status: OneOf(['queued', 'running', 'complete', 'failed', 'expired']),
  progress: Progress,
  size_bytes: Nullable(Type.Integer({ minimum: 0 })),
  url: Nullable(Type.String()),
  error: Nullable(Type.String()),
  requested_by: Type.String(),
  created_at: Timestamp,
  completed_at: Nullable(Timestamp),
  expires_at: Nullable(Timestamp),
});
export type Export = Static<typeof Export>;

describe(Export, {
  subject_type: 'What was exported.',
  subject_id: 'Id of the conversation, or of the actor of the person.',
  status:
    'An export is `queued`, then `running`, then `complete` or `failed`. A complete one is `expired` once its file is removed.',
  progress: 'How far it has come.',
  size_bytes: 'Size of the file in bytes. Null before it is complete.',
  url: 'Time-limited address to download the file from. Null unless the export is complete.',
  error: 'Why it failed, as the code of an error. Null otherwise.',
  requested_by: 'Id of the actor that asked for it.',
  completed_at: 'When it was complete or failed. Null before.',
  expires_at: 'When the file is removed. Null before it is complete.',
});
