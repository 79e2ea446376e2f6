import { type Static, Type } from 'typebox';
import { Body, describe, described, Identity, Nullable, OneOf, Times, Timestamp } from '../schema/schema.ts';
import { Since } from '../schema/since.ts';

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'withdrawn'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** The cause of a failed or omitted try. */
export type DeliveryError =
  | 'status'
  | 'redirect'
  | 'gone'
  | 'timeout'
  | 'connection_error'
  | 'invalid_response'
  | 'webhook_disabled';

/** What is kept of the tries of a delivery. */
export const TRY_LIMITS = { tries: 10, answerBytes: 1_024 } as const;

/** One try of a delivery (docs/contract.md#webhooks). */
export const WebhookTry = Type.Object({
  object: Type.Literal('webhook_try'),
  tried_at: Timestamp,
  duration_ms: Type.Integer({ minimum: 0 }),
  status_code: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  content_type: Nullable(Type.String()),
  answer: Nullable(Type.String()),
});
export type WebhookTry = Static<typeof WebhookTry>;

describe(WebhookTry, {
  tried_at: 'When the try began.',
  duration_ms: 'Milliseconds that it took.',
  status_code: 'The HTTP status of the answer. Null where there was none.',
  error: 'Why it failed, as `last_error` of the delivery says it. Null where it succeeded.',
  content_type: 'The Content-Type of the answer. Null where it has none.',
  answer: `The first ${TRY_LIMITS.answerBytes.toLocaleString('en')} bytes of the answer, as text. Null where there was no answer.`,
});

/** The request of a delivery, as the next try sends it. */
export const WebhookRequest = Type.Object({
  object: Type.Literal('webhook_request'),
  headers: Type.Record(Type.String(), Type.String()),
  body: Type.String(),
});
export type WebhookRequest = Static<typeof WebhookRequest>;

describe(WebhookRequest, {
  headers: 'Its headers, without those of each try: `webhook-timestamp`, `webhook-signature`, `traceparent`.',
  body: 'Its body, with the resource as it is now.',
});

/** An event on its way to one webhook (docs/contract.md#webhooks). */
export const WebhookDelivery = Type.Object({
  ...Identity('webhook_delivery'),
  webhook_id: Type.String(),
  event_id: Type.String(),
  event_type: Type.String(),
  conversation_id: Nullable(Type.String()),
  sequence: Nullable(Type.Integer()),
  resource_id: Nullable(Type.String()),
  status: OneOf(DELIVERY_STATUSES),
  attempts: Type.Integer({ minimum: 0 }),
  next_try_at: Nullable(Timestamp),
  last_status_code: Nullable(Type.Integer()),
  last_error: Nullable(Type.String()),
  last_duration_ms: Nullable(Type.Integer({ minimum: 0 })),
  occurred_at: Timestamp,
  ...Times,
  tries: Since('1.4.harbor', Type.Array(WebhookTry, { maxItems: TRY_LIMITS.tries })),
});
export type WebhookDelivery = Static<typeof WebhookDelivery>;

describe(WebhookDelivery, {
  webhook_id: 'Id of the webhook.',
  event_id: 'Id of the event: the `webhook-id` of every try, also of a redelivery.',
  event_type: 'Type of the event.',
  conversation_id: 'Id of the conversation that the event is about. Null for other events.',
  sequence: 'Number of the message that the event is about. Null for other events.',
  resource_id: 'Id of the resource that the event is about. Null where there is none.',
  status:
    '`pending` until a try succeeds, then `delivered`; `failed` after the last try; `withdrawn` if the resource was removed before.',
  attempts: 'Number of tries so far.',
  next_try_at: 'When it is tried next, at the latest. Null once it is not tried any more.',
  last_status_code: 'The HTTP status of the last try. Null before it, and where there was no response.',
  last_error:
    'Why the last try failed: `status`, `redirect`, `gone`, `timeout`, `connection_error`, `invalid_response`, or `webhook_disabled` if it was not tried. Null after a success. The set is open-ended and may grow.',
  last_duration_ms: 'Milliseconds that the last try took. Null before it.',
  occurred_at: 'When the event became true: the `timestamp` of its payload.',
  tries: `The last ${TRY_LIMITS.tries} tries, oldest first. They are kept for as long as delivered deliveries.`,
});

/** The completeness of a conversation's deliveries (docs/contract.md#completeness). */
export const ConversationCompleteness = Type.Object({
  object: Type.Literal('conversation_completeness'),
  conversation_id: Type.String(),
  through_sequence: Type.Integer({ minimum: 0 }),
  head: Type.Integer({ minimum: 0 }),
});
export type ConversationCompleteness = Static<typeof ConversationCompleteness>;

describe(ConversationCompleteness, {
  through_sequence:
    'Every `message.created` up to this number that the filter lets through was delivered. A number up to it that was not received is no message, or one that is not sent to this webhook.',
  head: 'The highest number of the conversation.',
});

/** Fields of their list beside its page. */
export const COMPLETENESS_FACTS = {
  all_through: described(
    Timestamp,
    'Every event that was committed before this time was delivered. It never goes back.',
  ),
};

export const ReplayWebhookBody = Body({ since: Timestamp });

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
