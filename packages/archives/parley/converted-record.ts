import { toEmoji } from '@parley/protocol/emoji.ts';
import { INCOMPLETE_REASONS } from '@parley/protocol/resources/agent-run.ts';
import { Body, Nullable, OneOf } from '@parley/protocol/schema/schema.ts';
import { type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { fields } from '../content/values.ts';
import { type ArchiveRecord, COUNTED } from '../record.ts';

/** Returns the value as the record that it is, or undefined: anyone may have written it. */
export function asRecord(value: unknown): ArchiveRecord | undefined {
  const { type } = fields(value);
  if (typeof type !== 'string' || !Object.hasOwn(RECORDS, type)) return undefined;
  if (!RECORDS[type as ArchiveRecord['type']].Check(value)) return undefined;
  const record = value as ArchiveRecord;
  const isSound =
    record.type !== 'message' || record.reactions.every(({ emoji }) => toEmoji(emoji) === emoji);
  return isSound ? record : undefined;
}

/** Text without control characters and halves of characters. */
function line(characters: number, not = '') {
  return Type.String({ pattern: `^[^\\p{Cc}\\p{Cs}${not}]{1,${characters}}$` });
}

/** Sources make some of their ids of several. */
const Ref = line(1_500);
const Refs = Type.Array(Ref);
const Name = line(200, '\\p{Zl}\\p{Zp}');
const Text = Nullable(Type.String());
const Time = Type.String({ format: 'date-time', pattern: '^(19[7-9]|20\\d)\\d-.*\\.\\d{6}Z$' });
const TimeOrNone = Nullable(Time);
const Audience = OneOf(['internal', 'customer']);
const Remark = { reason: Type.String({ pattern: '^[a-z_]{1,50}$' }), detail: Ref, where: Ref };

/** The forms of `record.ts`; longer texts than it says are cut by the walk. */
const FORMS: Readonly<Record<ArchiveRecord['type'], Record<string, TSchema>>> = {
  person: {
    ref: Ref,
    kind: OneOf(['user', 'guest', 'bot', 'customer', 'placeholder']),
    name: Name,
    handle: Text,
    email: Nullable(Type.String({ maxLength: 254, pattern: '^[^\\s@\\p{Cc}]+@[^\\s@\\p{Cc}]+$' })),
    email_verified: Type.Boolean(),
    deactivated: Type.Boolean(),
  },
  conversation: {
    ref: Ref,
    merged: Refs,
    kind: OneOf(['direct', 'group', 'channel']),
    private: Type.Boolean(),
    audience: Audience,
    title: Nullable(Name),
    description: Text,
    archived: Type.Boolean(),
    created_at: TimeOrNone,
    creator: Nullable(Ref),
    members: Type.Array(Body({ person: Ref, role: OneOf(['owner', 'admin', 'member', 'viewer']) })),
  },
  message: {
    client_message_id: line(255),
    counted: Type.Boolean(),
    conversation: Ref,
    author: Ref,
    created_at: Time,
    body: Text,
    reply_to: Nullable(line(255)),
    edited_at: TimeOrNone,
    deleted_at: TimeOrNone,
    mentions: Refs,
    reactions: Type.Array(Body({ emoji: Type.String(), person: Ref, created_at: TimeOrNone })),
    files: Type.Array(
      Body({
        id: Ref,
        name: line(255, '/\\\\\\p{Zl}\\p{Zp}'),
        content_type: Nullable(Type.String({ pattern: '^[\\w.+-]{1,60}/[\\w.+-]{1,60}$' })),
        size: Nullable(Type.Integer({ minimum: 0 })),
        source: Type.Union([
          Body({ entry: Type.String() }),
          Body({ url: Type.String({ pattern: '^https?://' }) }),
        ]),
      }),
    ),
    pin: Nullable(Body({ by: Nullable(Ref), at: TimeOrNone })),
    audience: Audience,
    system: Type.Boolean(),
    incomplete: Type.Optional(Nullable(OneOf(INCOMPLETE_REASONS))),
    where: Ref,
  },
  read_position: {
    conversation: Ref,
    person: Ref,
    through: Type.Union([Body({ message: line(255) }), Body({ at: Time })]),
  },
  skipped: { of: OneOf(COUNTED), count: Type.Integer({ minimum: 1, maximum: 10_000_000 }), ...Remark },
  note: Remark,
};

const compiled = Object.entries(FORMS).map(([type, fields]) => [
  type,
  Compile(Body({ type: Type.Literal(type), ...fields })),
]);
const RECORDS: Readonly<Record<ArchiveRecord['type'], { Check(value: unknown): boolean }>> =
  Object.fromEntries(compiled);
