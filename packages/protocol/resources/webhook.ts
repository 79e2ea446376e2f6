import { type Static, Type } from 'typebox';
import { Body, describe, described, Identity, Nullable, OneOf, Times, Timestamp } from '../schema/schema.ts';
import { Since } from '../schema/since.ts';
import { VERSIONS } from '../versions.ts';
import { EVENT_FILTER_PATTERN, EVENT_TYPE_LIMITS } from './event-type.ts';

const WEBHOOK_STATUSES = ['enabled', 'disabled'] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** Causes of a disabled webhook (docs/contract.md#webhooks). */
export type DisabledReason = 'requested' | 'gone' | 'failing' | 'backlog';

/** The form of each event filter of a webhook; the server checks its names in code. */
const EventTypes = Type.Array(
  Type.String({
    maxLength: EVENT_TYPE_LIMITS.characters,
    pattern: EVENT_FILTER_PATTERN,
    sentence: 'Must be the type of an event (message.created), an area (message.*) or everything (*).',
  }),
  { minItems: 1, maxItems: 50, uniqueItems: true, examples: [['message.*', 'order.created']] },
);

const URL_CHARACTERS = 2_000;
const Url = Type.String({ minLength: 1, maxLength: URL_CHARACTERS });

/** A target of the events of an account (docs/contract.md#webhooks). The secret is shown once. */
export const Webhook = Type.Object({
  ...Identity('webhook'),
  url: Type.String(),
  event_types: Type.Array(Type.String(), { examples: [['message.*', 'order.created']] }),
  include_direct: Type.Boolean(),
  version: Type.String(),
  status: OneOf(WEBHOOK_STATUSES),
  disabled_at: Nullable(Timestamp),
  disabled_reason: Nullable(Type.String()),
  failing_since: Nullable(Timestamp),
  last_success_at: Nullable(Timestamp),
  previous_secret_until: Nullable(Timestamp),
  created_by: Type.String(),
  ...Times,
});
export type Webhook = Static<typeof Webhook>;

const EVENT_TYPES_TEXT =
  'The events that are sent: types such as `message.created`, all of an area (`message.*`), or all (`*`).';
describe(Webhook, {
  url: 'Where the events are sent, by POST.',
  event_types: EVENT_TYPES_TEXT,
  include_direct: 'Whether events of direct messages between users are sent as well.',
  version: 'The Service-Version whose form the payloads have.',
  status: 'Whether events are sent. Those of a `disabled` webhook are recorded as failed.',
  disabled_at: 'When it was disabled. Null while it is enabled.',
  disabled_reason:
    'Why it is disabled: `requested`, `gone` (the receiver answered 410), `failing` (no success for five days) or `backlog` (too many failed deliveries). Null while it is enabled. The set is open-ended and may grow.',
  failing_since: 'When the first try failed since the last success. Null if the last try succeeded.',
  last_success_at: 'When a delivery last succeeded, to within ten seconds. Null before the first.',
  previous_secret_until:
    'Until when requests are signed with the secret before the rotation as well. Null if none is.',
  created_by: 'Id of the actor that made it.',
});

/** The form with the secret, shown when the secret is made. */
export const NewWebhook = Type.Object(
  {
    ...Webhook.properties,
    secret: Type.String({
      description: 'The secret that signs the requests, shown this once: `whsec_` and base64.',
    }),
  },
  { title: 'new_webhook' },
);
export type NewWebhook = Static<typeof NewWebhook>;

export const CreateWebhookBody = Body({
  url: Url,
  event_types: EventTypes,
  include_direct: Type.Optional(Type.Boolean()),
  version: Since('1.4.harbor', OneOf(VERSIONS)),
});
describe(CreateWebhookBody, {
  url: 'An absolute https URL without a user name or password. http is accepted for hosts that the operator allows.',
  event_types: EVENT_TYPES_TEXT,
  include_direct: 'Whether to send events of direct messages between users as well. Setting it is audited.',
  version: 'The Service-Version whose form the payloads have. Default: that of the request.',
});

const Status = Type.Optional(OneOf(WEBHOOK_STATUSES));
export const UpdateWebhookBody = Body(
  {
    ...Type.Partial(CreateWebhookBody).properties,
    version: described(
      Since('1.4.harbor', OneOf(VERSIONS)),
      'The Service-Version whose form the payloads have from now on.',
    ),
    status: described(Status, '`disabled` stops the sending, `enabled` starts it again.'),
  },
  { minProperties: 1, examples: [{ status: 'enabled' }] },
);
