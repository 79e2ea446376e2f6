import { type Static, Type } from 'typebox';
import { IdOf } from '../schema/external-ids.ts';
import {
  Body,
  describe,
  described,
  Id,
  Identity,
  Name,
  Nullable,
  OneOf,
  Text,
  Times,
  Timestamp,
} from '../schema/schema.ts';
import { Clock, Timezone, WEEKDAYS } from './notification-settings.ts';

/** The languages that the widget is written in; each has its own texts. */
export const WIDGET_LANGUAGES = ['en', 'ar'] as const;
export type WidgetLanguage = (typeof WIDGET_LANGUAGES)[number];

export const WIDGET_LIMITS = {
  sites: 50,
  siteCharacters: 255,
  textCharacters: 1_000,
  openings: 50,
} as const;

const Site = Type.String({ minLength: 1, maxLength: WIDGET_LIMITS.siteCharacters });
const Sites = Type.Array(Site, { minItems: 1, maxItems: WIDGET_LIMITS.sites, uniqueItems: true });
const SITES =
  'The sites whose pages may embed the widget, each as an exact origin: `https://shop.example`. http is accepted for the loopback interface alone.';

const Opening = Body({ day: OneOf(WEEKDAYS), from: Clock, to: Clock });
describe(Opening, {
  day: 'The day on which the hours begin.',
  from: 'Time of day at which they begin, such as `09:00`.',
  to: 'Time of day at which they end, on the next day where it is not later than `from`. The same time as `from` is the whole day.',
});

const Hours = Body({
  timezone: Timezone,
  open: Type.Array(Opening, { maxItems: WIDGET_LIMITS.openings }),
});
describe(Hours, {
  timezone: 'IANA timezone of the times, such as `Europe/Berlin`. Its daylight saving is followed.',
  open: 'When the team is there in a week. Empty: never.',
});
export type WidgetHours = Static<typeof Hours>;
const HOURS = 'When the team is there. Null: always.';

const WidgetText = Nullable(Text(WIDGET_LIMITS.textCharacters));
const LanguageTexts = Body({ greeting: Type.Optional(WidgetText), offline: Type.Optional(WidgetText) });
const GREETING = 'What a visitor reads first. Null: the text of the widget itself.';
const OFFLINE = 'What a visitor reads outside of the hours. Null: the text of the widget itself.';
describe(LanguageTexts, { greeting: GREETING, offline: OFFLINE });
const TextsInput = Body({ en: Type.Optional(LanguageTexts), ar: Type.Optional(LanguageTexts) });
describe(TextsInput, { en: 'The texts in English.', ar: 'The texts in Arabic.' });
export type WidgetTextsInput = Static<typeof TextsInput>;

const ShownTexts = Type.Object({ greeting: Nullable(Type.String()), offline: Nullable(Type.String()) });
describe(ShownTexts, { greeting: GREETING, offline: OFFLINE });
const Texts = Type.Object({ en: ShownTexts, ar: ShownTexts });
describe(Texts, { en: 'The texts in English.', ar: 'The texts in Arabic.' });
export type WidgetTexts = Static<typeof Texts>;
const TEXTS = 'What visitors read, in each language of the widget.';

const Color = Type.String({
  pattern: '^#[0-9a-fA-F]{6}$',
  sentence: 'Must be a colour as six hexadecimal digits: #0f766e.',
});
const COLORS = 'The accent on light and on dark ground.';
const COLOR_TEXTS = {
  light: 'The accent on light ground, as `#rrggbb`. Null: that of the widget itself.',
  dark: 'The accent on dark ground, as `#rrggbb`. Null: that of the widget itself.',
};
const ColorsInput = Body({ light: Type.Optional(Nullable(Color)), dark: Type.Optional(Nullable(Color)) });
describe(ColorsInput, COLOR_TEXTS);
export type WidgetColorsInput = Static<typeof ColorsInput>;
const Colors = Type.Object({ light: Nullable(Type.String()), dark: Nullable(Type.String()) });
describe(Colors, COLOR_TEXTS);

const GROUP =
  'Id of the group under whose name and picture the team writes to visitors. Null: the group Customer Service.';
const PROVIDER =
  'Id of the identity provider, of customers, whose tokens say who a visitor is. Null: visitors stay anonymous, or confirm an e-mail address.';
const ENABLED =
  'Whether pages can show it. Without it the frame is 404 and no visitor begins; conversations that have begun go on.';

/** A chat that pages of an account embed (docs/contract.md#widgets). */
export const Widget = Type.Object({
  ...Identity('widget'),
  name: Type.String(),
  sites: Type.Array(Type.String(), { examples: [['https://shop.example']] }),
  group_id: Nullable(Type.String()),
  hours: Nullable(Hours),
  texts: Texts,
  colors: Colors,
  identity_provider_id: Nullable(Type.String()),
  enabled: Type.Boolean(),
  created_by: Type.String(),
  ...Times,
});
export type Widget = Static<typeof Widget>;
describe(Widget, {
  name: 'Name of the widget, for the team.',
  sites: SITES,
  group_id: GROUP,
  hours: HOURS,
  texts: TEXTS,
  colors: COLORS,
  identity_provider_id: PROVIDER,
  enabled: ENABLED,
  created_by: 'Id of the actor that made it.',
});

export const CreateWidgetBody = Body(
  {
    name: Name,
    sites: Sites,
    group_id: Type.Optional(IdOf('group')),
    hours: Type.Optional(Hours),
    texts: Type.Optional(TextsInput),
    colors: Type.Optional(ColorsInput),
    identity_provider_id: Type.Optional(Id),
    enabled: Type.Optional(Type.Boolean()),
  },
  { examples: [{ name: 'Shop', sites: ['https://shop.example'] }] },
);
export type CreateWidgetBody = Static<typeof CreateWidgetBody>;
describe(CreateWidgetBody, {
  name: 'Name of the widget, for the team.',
  sites: SITES,
  group_id: `${GROUP} Default null.`,
  hours: `${HOURS} Default null.`,
  texts: TEXTS,
  colors: COLORS,
  identity_provider_id: `${PROVIDER} Default null.`,
  enabled: `${ENABLED} Default true.`,
});

/** Absent fields stay, null clears; a sent object replaces the previous object as a whole. */
export const UpdateWidgetBody = Body(
  {
    name: Type.Optional(Name),
    sites: Type.Optional(Sites),
    group_id: Type.Optional(Nullable(IdOf('group'))),
    hours: Type.Optional(Nullable(Hours)),
    texts: Type.Optional(Nullable(TextsInput)),
    colors: Type.Optional(Nullable(ColorsInput)),
    identity_provider_id: Type.Optional(Nullable(Id)),
    enabled: Type.Optional(Type.Boolean()),
  },
  { minProperties: 1, examples: [{ enabled: false }] },
);
export type UpdateWidgetBody = Static<typeof UpdateWidgetBody>;
describe(UpdateWidgetBody, {
  name: 'Name of the widget, for the team.',
  sites: `${SITES} They take the place of those before.`,
  group_id: GROUP,
  hours: HOURS,
  texts: `${TEXTS} They take the place of those before; null clears all.`,
  colors: `${COLORS} They take the place of those before; null clears both.`,
  identity_provider_id: PROVIDER,
  enabled: ENABLED,
});

const Persona = Type.Object({ name: Type.String(), avatar_url: Nullable(Type.String()) });
describe(Persona, { name: 'The name under which the team writes.' });

/** A widget as visitors see it (docs/contract.md#widgets). */
export const WidgetPublic = Type.Object({
  ...Identity('widget_public'),
  account_id: Type.String(),
  sites: Type.Array(Type.String(), { examples: [['https://shop.example']] }),
  persona: Persona,
  texts: Texts,
  colors: Colors,
  is_open: Type.Boolean(),
  opens_at: Nullable(Timestamp),
  identifies: Type.Boolean(),
  confirms_addresses: Type.Boolean(),
});
export type WidgetPublic = Static<typeof WidgetPublic>;
describe(WidgetPublic, {
  account_id: 'Id of the account: the `Service-Account` of all further calls.',
  sites: SITES,
  persona: 'Who the team is to visitors.',
  texts: TEXTS,
  colors: COLORS,
  is_open: 'Whether the team is there now, by its hours.',
  opens_at: 'When the hours begin next. Null where it is open, or has no hours in the coming week.',
  identifies: 'Whether tokens of the application say who a visitor is.',
  confirms_addresses: 'Whether a visitor can confirm an e-mail address: whether this server sends mail.',
});

/** The credentials of a visitor, who has the conversations of the named customer. */
export const VisitorSession = Type.Object({
  object: Type.Literal('visitor_session'),
  account_id: Type.String(),
  customer_id: Type.String(),
  access_token: Type.String(),
  refresh_token: Type.String(),
  expires_at: Timestamp,
});
export type VisitorSession = Static<typeof VisitorSession>;
describe(VisitorSession, {
  account_id: 'Id of the account: the `Service-Account` of all further calls.',
  customer_id: 'Actor id of the customer, who is the sender of what the visitor writes.',
  access_token: 'Goes into `Authorization: Bearer`.',
  refresh_token:
    'Gets the next pair at `POST /v1/auth/tokens/refresh`, once, within 30 days. Use after that ends the session.',
  expires_at: 'When the access token expires.',
});

export const ClaimVisitorBody = Body({
  visitor_token: described(
    Type.String({ minLength: 1, maxLength: 8_192 }),
    'The access token of the anonymous visitor.',
  ),
});
export type ClaimVisitorBody = Static<typeof ClaimVisitorBody>;

/** An anonymous visitor has become a known customer. */
export const VisitorClaim = Type.Object({
  object: Type.Literal('visitor_claim'),
  visitor_id: Type.String(),
  customer_id: Type.String(),
  claimed_at: Timestamp,
});
export type VisitorClaim = Static<typeof VisitorClaim>;
describe(VisitorClaim, {
  visitor_id: 'Actor id that the anonymous visitor had.',
  customer_id: 'Actor id of the customer who now has its conversations.',
  claimed_at: 'When the conversations moved. A repetition shows the first time.',
});

export const ConfirmAddressBody = Body(
  {
    email: described(
      Type.String({ format: 'email', maxLength: 254, whitespace: 'trimmed' }),
      'The address that gets the mail.',
    ),
    language: Type.Optional(described(OneOf(WIDGET_LANGUAGES), 'The language of the mail. Default `en`.')),
  },
  { examples: [{ email: 'ada@example.com' }] },
);
export type ConfirmAddressBody = Static<typeof ConfirmAddressBody>;

/** A mail with a link that confirms an address. */
export const AddressConfirmation = Type.Object({
  object: Type.Literal('address_confirmation'),
  email: Type.String(),
  expires_at: Timestamp,
});
export type AddressConfirmation = Static<typeof AddressConfirmation>;
describe(AddressConfirmation, {
  email: 'The address that gets the mail.',
  expires_at: 'Until when the link works.',
});

export const OpenConfirmationBody = Body({
  token: described(
    Type.String({ minLength: 1, maxLength: 200 }),
    'What the address of the link has behind `#confirm=`. It can be used once, within an hour.',
  ),
});
export type OpenConfirmationBody = Static<typeof OpenConfirmationBody>;
