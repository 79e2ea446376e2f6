import { type Static, Type } from 'typebox';
import { Body, describe, Nullable, Timestamp } from '../schema/schema.ts';

/** The data with a period of its own, by field of the policy. */
export const RETAINED = ['messages', 'files', 'notifications', 'runs', 'audit'] as const;
export type Retained = (typeof RETAINED)[number];
export type PeriodField = `${Retained}_days`;

const MAX_DAYS = 36_500;
export const Days = Type.Integer({ minimum: 1, maximum: MAX_DAYS });

/** The account's periods of retention (docs/contract.md#retention). */
export const RetentionPolicy = Type.Object({
  object: Type.Literal('retention_policy'),
  messages_days: Nullable(Days),
  files_days: Nullable(Days),
  notifications_days: Nullable(Days),
  runs_days: Nullable(Days),
  audit_days: Nullable(Days),
  updated_at: Nullable(Timestamp),
});
export type RetentionPolicy = Static<typeof RetentionPolicy>;

describe(RetentionPolicy, {
  messages_days:
    'Days after which messages are purged, with their files, revisions and notifications. Null: they are kept.',
  files_days:
    'Days after which the files of messages and runs are purged, while the messages stay. Null: they are kept.',
  notifications_days: 'Days after which notifications are purged. Null: they are kept.',
  runs_days:
    'Days after their end in which runs of agents are purged, with their steps and files. Null: they are kept.',
  audit_days: 'Days after which audit events are purged. Null: they are kept.',
  updated_at: 'When the policy was set. Null if it never was: then everything is kept.',
});

const { object: _, updated_at: _at, ...periods } = RetentionPolicy.properties;

/** The whole policy, without absent fields: data that it does not keep is purged for good. */
export const SetRetentionPolicyBody = Body(periods);
export type SetRetentionPolicyBody = Static<typeof SetRetentionPolicyBody>;
