import { type Static, Type } from 'typebox';
import { Body, describe, described, Timestamp } from '../schema/schema.ts';

/** How far the new messages of a conversation were delivered (docs/contract.md#completeness). */
export const ConversationCompleteness = Type.Object({
  object: Type.Literal('conversation_completeness'),
  conversation_id: Type.String(),
  through_sequence: Type.Integer({ minimum: 0 }),
  head: Type.Integer({ minimum: 0 }),
});
export type ConversationCompleteness = Static<typeof ConversationCompleteness>;

describe(ConversationCompleteness, {
  conversation_id: 'Id of the conversation.',
  through_sequence:
    'Every `message.created` up to this number that the filter lets through was delivered. A number up to it that was not received is no message, or one that is not sent to this webhook.',
  head: 'The highest number of the conversation.',
});

/** Fields of the list of these beside its page. */
export const COMPLETENESS_FACTS = {
  all_through: described(
    Timestamp,
    'Every event that was committed before this time was delivered. It never goes back.',
  ),
};

export const ReplayWebhookBody = Body({ since: Timestamp });
export type ReplayWebhookBody = Static<typeof ReplayWebhookBody>;

describe(ReplayWebhookBody, { since: 'Events from this time on are sent again. Not in the future.' });

/** A replay that has begun. */
export const WebhookReplay = Type.Object({
  object: Type.Literal('webhook_replay'),
  webhook_id: Type.String(),
  since: Timestamp,
  until: Timestamp,
});
export type WebhookReplay = Static<typeof WebhookReplay>;

describe(WebhookReplay, {
  webhook_id: 'Id of the webhook.',
  since:
    'The time of the first events that are sent again; a replay that is under way may have begun earlier.',
  until: 'The time of the last ones: when the replay was asked for.',
});
