import { type Static, Type } from 'typebox';
import { Body, describe, Line, Nullable, OneOf, Text, Timestamp } from '../schema/schema.ts';

/** The most that a receiver may answer (docs/contract.md#customer-cards). */
const CARD_LIMITS = {
  fields: 30,
  title: 120,
  label: 80,
  value: 500,
  urlCharacters: 2_000,
} as const;

/** The status of a card: nothing is known, it is there, or the request for it failed. */
const CARD_STATUSES = ['none', 'ready', 'failed'] as const;

const CARD_ERRORS = ['connection_error', 'timeout', 'status', 'redirect', 'invalid_response'] as const;
export type CardError = (typeof CARD_ERRORS)[number];

const CardField = Type.Object({
  label: Type.String(),
  value: Type.String(),
  url: Nullable(Type.String()),
});
describe(CardField, {
  label: 'What the value is.',
  value: 'The value as text.',
  url: 'An https address with more about it. Null where there is none.',
});

/** What the account's own application says of a customer (docs/contract.md#customer-cards). */
export const CustomerCard = Type.Object({
  object: Type.Literal('customer_card'),
  customer_id: Type.String(),
  status: OneOf(CARD_STATUSES),
  title: Nullable(Type.String()),
  fields: Type.Array(CardField, { maxItems: CARD_LIMITS.fields }),
  error: Nullable(OneOf(CARD_ERRORS)),
  detail: Nullable(Type.String()),
  read_at: Nullable(Timestamp),
});
export type CustomerCard = Static<typeof CustomerCard>;

describe(CustomerCard, {
  customer_id: 'The customer that the card is of.',
  status:
    '`none` where the account has no source of cards, or the source knows nothing of the customer; `ready` where the card is there; `failed` where the source could not be read.',
  title: 'The title of the card. Null where it has none.',
  fields: 'What the source says of the customer, in its order.',
  error:
    'Why the source could not be read: `connection_error`, `timeout` (no whole answer within three seconds), `status` (another one than 200, 204 and 404), `redirect`, or `invalid_response` (not the documented JSON). Null unless `failed`.',
  detail: 'Where the answer is not as documented. Null unless `error` is `invalid_response`.',
  read_at: 'When the source was asked. Null where the account has none.',
});

/** The application that the account asks for cards. The secret is shown once. */
export const CustomerCardSource = Type.Object({
  object: Type.Literal('customer_card_source'),
  url: Nullable(Type.String()),
  previous_secret_until: Nullable(Timestamp),
  updated_at: Nullable(Timestamp),
});
export type CustomerCardSource = Static<typeof CustomerCardSource>;

describe(CustomerCardSource, {
  url: 'Where cards are asked for, by POST. Null: the account has no cards.',
  previous_secret_until:
    'Until when requests are signed with the secret before the rotation as well. Null if none is.',
  updated_at: 'When the source was set. Null if the account has none.',
});

const SECRET_TEXT = 'The secret that signs the requests: `whsec_` and base64.';

/** The answer to setting the source: the secret is there if this request made it. */
export const SetCustomerCardSource = Type.Object(
  {
    ...CustomerCardSource.properties,
    secret: Nullable(
      Type.String({
        description: `${SECRET_TEXT} Shown when a source is set where there was none, and null otherwise.`,
      }),
    ),
  },
  { title: 'set_customer_card_source' },
);
export type SetCustomerCardSource = Static<typeof SetCustomerCardSource>;

/** The source with its new secret, shown once. */
export const NewCustomerCardSource = Type.Object(
  {
    ...CustomerCardSource.properties,
    secret: Type.String({ description: `${SECRET_TEXT} Shown this once.` }),
  },
  { title: 'new_customer_card_source' },
);
export type NewCustomerCardSource = Static<typeof NewCustomerCardSource>;

export const SetCustomerCardSourceBody = Body(
  { url: Nullable(Type.String({ minLength: 1, maxLength: CARD_LIMITS.urlCharacters })) },
  { examples: [{ url: 'https://shop.example.com/parley/card' }] },
);
describe(SetCustomerCardSourceBody, {
  url: 'An absolute https URL without a user name or password; http is accepted for hosts that the operator allows. Null removes the source and its secret.',
});

/** What a source answers. Unknown fields are left out. */
export const CardAnswer = Type.Object({
  title: Type.Optional(Line(CARD_LIMITS.title)),
  fields: Type.Array(
    Type.Object({
      label: Line(CARD_LIMITS.label),
      value: Text(CARD_LIMITS.value),
      url: Type.Optional(Type.String({ maxLength: CARD_LIMITS.urlCharacters })),
    }),
    { maxItems: CARD_LIMITS.fields },
  ),
});
export type CardAnswer = Static<typeof CardAnswer>;
