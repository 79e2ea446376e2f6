import { Type } from 'typebox';
import { Body, describe, Line, Name } from '../schema/schema.ts';

/** A resource of the account's own application that conversations and messages can point to. */
export const CreateEntityBody = Body({
  name: Name,
  handle: Type.Optional(Line(254)),
});

describe(CreateEntityBody, {
  name: 'Display name, such as the number of a sales order.',
  handle: 'Secondary identifier, such as an email address.',
});
