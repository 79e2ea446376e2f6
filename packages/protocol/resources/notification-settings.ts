import { type Static, Type } from 'typebox';
import { Body, describe, Nullable, OneOf, Timestamp } from '../schema/schema.ts';
import { CATEGORY } from './notification.ts';

/** The ways of a notification to its user beside the feed, which shows every notification. */
export type NotificationChannel = 'socket' | 'push' | 'mail';

export const WEEKDAYS = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const;
export type Weekday = (typeof WEEKDAYS)[number];

export const SETTINGS_LIMITS = {
  /** Categories that a user may have channels for. */
  categories: 100,
  /** Minutes. */
  shortestDigest: 5,
  /** A week, in minutes. */
  longestDigest: 7 * 24 * 60,
  timezoneCharacters: 64,
} as const;

export const CategoryChannels = Type.Object({
  socket: Type.Boolean(),
  push: Type.Boolean(),
  mail: Type.Boolean(),
});
export type CategoryChannels = Static<typeof CategoryChannels>;

const CHANNELS = {
  socket:
    'Whether `notification.created` of the category reaches the sockets of the user, live and in a resume. The feed and the counts have the notification in any case.',
  push: 'Whether the category is sent to the push subscriptions of the user.',
  mail: 'Whether the digest by mail contains the category.',
} as const;
describe(CategoryChannels, CHANNELS);

/** A time of day, to the minute. */
export const Clock = Type.String({
  pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
  sentence: 'Must be a time of day with hours and minutes: 22:30.',
});
export const Timezone = Type.String({ minLength: 1, maxLength: SETTINGS_LIMITS.timezoneCharacters });

export const DoNotDisturb = Type.Object({
  from: Clock,
  to: Clock,
  timezone: Timezone,
  days: Type.Array(OneOf(WEEKDAYS)),
});
export type DoNotDisturb = Static<typeof DoNotDisturb>;

describe(DoNotDisturb, {
  from: 'Time of day at which the hours begin, such as `22:00`.',
  to: 'Time of day at which they end, on the next day where it is not later than `from`. The same time as `from` is the whole day.',
  timezone: 'IANA timezone of the two times, such as `Europe/Berlin`. Its daylight saving is followed.',
  days: 'The days on which the hours begin.',
});

/** The causes and times of a user's notifications (docs/contract.md#notification-settings). */
export const NotificationSettings = Type.Object({
  object: Type.Literal('notification_settings'),
  categories: Type.Record(Type.String(), CategoryChannels),
  mute_until: Nullable(Timestamp),
  do_not_disturb: Nullable(DoNotDisturb),
  digest_after_minutes: Nullable(Type.Integer()),
  updated_at: Nullable(Timestamp),
});
export type NotificationSettings = Static<typeof NotificationSettings>;

const FIELDS = {
  categories:
    'The channels by category: those of the service, and others that the user has set. Any category that is not listed has every channel.',
  mute_until:
    'Until this time, which is within the next year, nothing is pushed or mailed. Null: notifications are not muted.',
  do_not_disturb: 'Hours in which nothing is pushed or mailed. Null: there are none.',
  digest_after_minutes:
    'Minutes for which a notification stays unseen before a digest is mailed. Null, the default: there is no digest.',
} as const;
describe(NotificationSettings, {
  ...FIELDS,
  updated_at: 'When the settings were last changed. Null: they are the defaults.',
});

const ChannelsInput = Body(Type.Partial(CategoryChannels).properties);
describe(ChannelsInput, {
  socket: `${CHANNELS.socket} Default true.`,
  push: `${CHANNELS.push} Default true.`,
  mail: `${CHANNELS.mail} Default true.`,
});

const DoNotDisturbInput = Body({
  ...DoNotDisturb.properties,
  days: Type.Optional(
    Type.Array(OneOf(WEEKDAYS), {
      minItems: 1,
      maxItems: WEEKDAYS.length,
      uniqueItems: true,
      description: 'The days on which the hours begin. Default: every day.',
    }),
  ),
});

/** The whole settings: absent fields have defaults. */
export const SetNotificationSettingsBody = Body({
  categories: Type.Optional(
    Type.Record(Type.String(), ChannelsInput, {
      maxProperties: SETTINGS_LIMITS.categories,
      propertyNames: { ...CATEGORY },
    }),
  ),
  mute_until: Type.Optional(Nullable(Timestamp)),
  do_not_disturb: Type.Optional(Nullable(DoNotDisturbInput)),
  digest_after_minutes: Type.Optional(
    Nullable(
      Type.Integer({ minimum: SETTINGS_LIMITS.shortestDigest, maximum: SETTINGS_LIMITS.longestDigest }),
    ),
  ),
});
export type SetNotificationSettingsBody = Static<typeof SetNotificationSettingsBody>;

describe(SetNotificationSettingsBody, {
  ...FIELDS,
  categories:
    'The channels by category. A category that is left out, as a channel that is left out, has its default.',
});
