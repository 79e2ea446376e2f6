import type { TSchema } from 'typebox';
import { ErrorEnvelope } from '../errors/error-envelope.ts';
import { ChatMessage } from '../resources/chat-message.ts';

/** The schemas that others mention by name: `{ type: 'object', title: 'chat_message' }`. */
const MENTIONED: Readonly<Record<string, TSchema>> = {
  chat_message: ChatMessage,
  error: ErrorEnvelope.properties.error,
};

/** Returns whether the schema only names another schema. */
export function isMention(schema: object): schema is { readonly title: string } {
  return (
    'title' in schema && 'type' in schema && schema.type === 'object' && Object.keys(schema).length === 2
  );
}

/** Returns the schema that a mention names. Throws a TypeError for an unknown name. */
export function mentioned({ title }: { readonly title: string }): TSchema {
  const schema = MENTIONED[title];
  if (schema === undefined) throw new TypeError(`No schema is known as ${title}.`);
  return schema;
}
