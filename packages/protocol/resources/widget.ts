import { type Static, type TSchema, Type } from 'typebox';
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
import { MEMBERS_SINCE, type MembersSince, Since } from '../schema/since.ts';
import { Clock, Timezone, WEEKDAYS } from './notification-settings.ts';
import { WIDGET_LANGUAGES, type WidgetLanguage } from './widget-languages.ts';

/** English and Arabic are as old as the widget. */
const MORE_LANGUAGES_SINCE = '1.4.harbor';

const LANGUAGES_SINCE: MembersSince<WidgetLanguage> = Object.fromEntries(
  WIDGET_LANGUAGES.filter((one) => one !== 'en' && one !== 'ar').map((one) => [one, MORE_LANGUAGES_SINCE]),
);

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
const LaterTexts = Since(MORE_LANGUAGES_SINCE, LanguageTexts);
const TextsInput = Body({
  en: Type.Optional(LanguageTexts),
  ar: Type.Optional(LanguageTexts),
  de: LaterTexts,
  es: LaterTexts,
  fr: LaterTexts,
  it: LaterTexts,
  ja: LaterTexts,
  nl: LaterTexts,
  pl: LaterTexts,
  pt: LaterTexts,
  tr: LaterTexts,
  zh: LaterTexts,
} satisfies Record<WidgetLanguage, TSchema>);
const IN_LANGUAGES = {
  en: 'The texts in English.',
  ar: 'The texts in Arabic.',
  de: 'The texts in German.',
  es: 'The texts in Spanish.',
  fr: 'The texts in French.',
  it: 'The texts in Italian.',
  ja: 'The texts in Japanese.',
  nl: 'The texts in Dutch.',
  pl: 'The texts in Polish.',
  pt: 'The texts in Portuguese.',
  tr: 'The texts in Turkish.',
  zh: 'The texts in Chinese.',
} as const satisfies Record<WidgetLanguage, string>;
describe(TextsInput, IN_LANGUAGES);
export type WidgetTextsInput = Static<typeof TextsInput>;

const ShownTexts = Type.Object({ greeting: Nullable(Type.String()), offline: Nullable(Type.String()) });
describe(ShownTexts, { greeting: GREETING, offline: OFFLINE });
const LaterShown = Since(MORE_LANGUAGES_SINCE, ShownTexts);
const Texts = Type.Object({
  en: ShownTexts,
  ar: ShownTexts,
  de: LaterShown,
  es: LaterShown,
  fr: LaterShown,
  it: LaterShown,
  ja: LaterShown,
  nl: LaterShown,
  pl: LaterShown,
  pt: LaterShown,
  tr: LaterShown,
  zh: LaterShown,
} satisfies Record<WidgetLanguage, TSchema>);
describe(Texts, IN_LANGUAGES);
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
  'Id of the group under whose name and picture the team writes to visitors, and whose members their cases reach. Null: the group Customer Service.';
const PROVIDER =
  'Id of the identity provider, of customers, whose tokens say who a visitor is. Null: visitors stay anonymous, or confirm an e-mail address.';
const SHOW_TEAM =
  'Whether visitors see the first names and the pictures of up to three members of its group. Without it they see the name and the picture of the group alone.';
const INBOX =
  'Id of the inbox from which answers are mailed that a customer with a proven address has not read for some minutes. Null: none are mailed.';
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
  show_team: Since('1.4.harbor', Type.Boolean()),
  enabled: Type.Boolean(),
  created_by: Type.String(),
  ...Times,
  inbox_id: Since('1.4.harbor', Nullable(Type.String())),
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
  show_team: SHOW_TEAM,
  enabled: ENABLED,
  created_by: 'Id of the actor that made it.',
  inbox_id: INBOX,
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
    show_team: Since('1.4.harbor', Type.Boolean()),
    enabled: Type.Optional(Type.Boolean()),
    inbox_id: Since('1.4.harbor', Id),
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
  show_team: `${SHOW_TEAM} Default false.`,
  enabled: `${ENABLED} Default true.`,
  inbox_id: `${INBOX} Default null.`,
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
    show_team: Since('1.4.harbor', Type.Boolean()),
    enabled: Type.Optional(Type.Boolean()),
    inbox_id: Since('1.4.harbor', Nullable(Id)),
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
  show_team: SHOW_TEAM,
  enabled: ENABLED,
  inbox_id: INBOX,
});

const Persona = Type.Object({ name: Type.String(), avatar_url: Nullable(Type.String()) });
describe(Persona, { name: 'The name under which the team writes.' });

const Teammate = Type.Object({ name: Type.String(), avatar_url: Nullable(Type.String()) });
describe(Teammate, { name: 'The first name.' });

/** How long first answers usually take, as visitors read it. */
const ANSWER_TIMES = ['minutes', 'hour', 'day'] as const;
export type AnswerTime = (typeof ANSWER_TIMES)[number];

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
  team: Since('1.4.harbor', Type.Array(Teammate)),
  answers_in: Since('1.4.harbor', Nullable(OneOf(ANSWER_TIMES))),
  identifies: Type.Boolean(),
  confirms_addresses: Type.Boolean(),
  mails_answers: Since('1.4.harbor', Type.Boolean()),
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
  team: 'Up to three members of the group. Empty without `show_team`.',
  answers_in:
    'How long the first answer to a conversation of this widget took in half of the cases of the last four weeks, counted within its hours: a few `minutes`, an `hour` or a `day` at most. Null for longer, and for fewer than five conversations.',
  identifies: 'Whether tokens of the application say who a visitor is.',
  confirms_addresses: 'Whether a visitor can confirm an e-mail address: whether this server sends mail.',
  mails_answers:
    'Whether answers that stay unread are mailed to a proven address: whether the widget has an inbox, and this server sends mail.',
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
    language: Type.Optional(
      described(
        OneOf(WIDGET_LANGUAGES, { [MEMBERS_SINCE]: LANGUAGES_SINCE }),
        'The language of the mail. Default `en`.',
      ),
    ),
  },
  { examples: [{ email: 'ada@example.com' }] },
);
export type ConfirmAddressBody = Static<typeof ConfirmAddressBody>;

/** A mail with a link that confirms an address. */
export const AddressConfirmation = Type.Object({
  object: Type.Literal('address_confirmation'),
  email: Type.String(),
  expires_at: Timestamp,
  confirmation_token: Since('1.4.harbor', Type.String()),
});
export type AddressConfirmation = Static<typeof AddressConfirmation>;
describe(AddressConfirmation, {
  email: 'The address that gets the mail.',
  expires_at: 'Until when the link and the code work.',
  confirmation_token:
    'Goes with the code of the mail into `enter-code`: the code works in the page that has this token alone.',
});

export const OpenConfirmationBody = Body({
  token: described(
    Type.String({ minLength: 1, maxLength: 200 }),
    'What the address of the link has behind `#confirm=`. It can be used once, within an hour.',
  ),
});
export type OpenConfirmationBody = Static<typeof OpenConfirmationBody>;

/** How often codes may be entered: for one mail, and for one address in a day. */
export const CODE_TRIES = { mail: 5, address: 10 } as const;

export const EnterCodeBody = Body(
  {
    confirmation_token: described(
      Type.String({ minLength: 1, maxLength: 200 }),
      'The token of the answer to the page that asked for the mail.',
    ),
    code: described(
      Type.String({ pattern: '^[0-9]{6}$', sentence: 'Must be six digits.' }),
      `The code of the mail. It can be used once, within an hour; ${CODE_TRIES.mail} tries are possible.`,
    ),
  },
  { examples: [{ confirmation_token: 'x3Zt…', code: '402119' }] },
);
export type EnterCodeBody = Static<typeof EnterCodeBody>;

const UnreadAnswer = Type.Object({
  conversation_id: Type.String(),
  message_id: Type.String(),
  sender_name: Nullable(Type.String()),
  text: Type.String(),
  created_at: Timestamp,
});
describe(UnreadAnswer, {
  conversation_id: 'Id of the conversation that the answer is in.',
  message_id: 'Id of the message.',
  sender_name: 'The name under which the team has written it.',
  text: 'The first words of the answer, as plain text. Empty where it has files alone.',
  created_at: 'When it was sent.',
});

/** What waits unread for a customer, for the launcher of a widget. */
export const UnreadAnswers = Type.Object({
  object: Type.Literal('unread_answers'),
  unread: Type.Integer({ minimum: 0 }),
  newest: Nullable(UnreadAnswer),
});
export type UnreadAnswers = Static<typeof UnreadAnswers>;
describe(UnreadAnswers, {
  unread: 'The number of conversations with something unread.',
  newest: 'The newest answer that was not read. Null where there is none.',
});
