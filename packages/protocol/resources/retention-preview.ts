import { type Static, Type } from 'typebox';
import { Body, describe } from '../schema/schema.ts';
import { Days } from './retention-policy.ts';

/** The most rows of a kind that a preview counts. */
export const MOST_PREVIEWED = 1_000;

const Due = Type.Object({
  count: Type.Integer({ minimum: 0, maximum: MOST_PREVIEWED }),
  more: Type.Boolean(),
});
export type Due = Static<typeof Due>;

describe(Due, {
  count: `How many are older than the period, ${MOST_PREVIEWED} at most.`,
  more: 'Whether there may be more than `count`.',
});

/** Counts of the rows that a policy would purge if it was set now (docs/contract.md#retention). */
export const RetentionPreview = Type.Object({
  object: Type.Literal('retention_preview'),
  messages: Due,
  files: Due,
  notifications: Due,
  runs: Due,
  audit: Due,
});
export type RetentionPreview = Static<typeof RetentionPreview>;

describe(RetentionPreview, {
  messages: 'Messages; their revisions, notifications and files go as well.',
  files: 'Files of messages, and those of mails and runs that go before these.',
  notifications: 'Notifications by their own age; those of purged messages go as well.',
  runs: 'Ended runs of agents; their steps and files go as well.',
  audit: 'Audit events of the account.',
});

/** The periods of the previewed policy; absent fields keep their data. */
export const RetentionPreviewQuery = Body({
  messages_days: Type.Optional(Days),
  files_days: Type.Optional(Days),
  notifications_days: Type.Optional(Days),
  runs_days: Type.Optional(Days),
  audit_days: Type.Optional(Days),
});
export type RetentionPreviewQuery = Static<typeof RetentionPreviewQuery>;

describe(RetentionPreviewQuery, {
  messages_days: 'The `messages_days` of the policy to look at.',
  files_days: 'The `files_days` of the policy to look at.',
  notifications_days: 'The `notifications_days` of the policy to look at.',
  runs_days: 'The `runs_days` of the policy to look at.',
  audit_days: 'The `audit_days` of the policy to look at.',
});
