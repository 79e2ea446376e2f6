import { type Static, Type } from 'typebox';
import { Body, describe, Id, Line, OneOf, Text } from '../schema/schema.ts';
import { PRIORITIES } from './notification.ts';

/** Sizes of an alert (docs/contract.md#alerts). Both together are within the text of a message. */
export const ALERT_LIMITS = { titleCharacters: 200, bodyCharacters: 39_000 } as const;

/** Body of Create Alert (docs/contract.md#alerts). */
export const CreateAlertBody = Body({
  title: Line(ALERT_LIMITS.titleCharacters),
  body: Type.Optional(Text(ALERT_LIMITS.bodyCharacters)),
  conversation_id: Type.Optional(Id),
  priority: Type.Optional(OneOf(PRIORITIES)),
});
export type CreateAlertBody = Static<typeof CreateAlertBody>;

describe(CreateAlertBody, {
  title: 'One line that says what happened: the first line of the message.',
  body: 'Further text, which follows the title behind an empty line.',
  conversation_id:
    "The conversation to raise the alert in, where the caller may send. Default: the account's `system` conversation, whose members are the admins.",
  priority: 'Of the notifications that the alert causes. Default `normal`.',
});
