import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import { shownName } from '@parley/ui/text/shown-name.ts';
import { texts } from '../texts/texts.ts';

const CHARACTERS = 140;

type Excerpted = Pick<ChatMessage, 'body' | 'deleted_at'> & {
  readonly attachments: readonly { readonly filename: string | null }[] | null;
};

/** Returns the beginning of a message in one line; without a text, the name of its file. */
export function excerptOf({ body, attachments, deleted_at }: Excerpted): string {
  if (deleted_at !== null) return texts.details.deletedMessage;
  const text = (body ?? '').replaceAll(/\s+/g, ' ').trim();
  if (text === '') return shownName(attachments?.[0]?.filename ?? texts.details.withoutText);
  const characters = [...text];
  return characters.length > CHARACTERS ? `${characters.slice(0, CHARACTERS).join('')}…` : text;
}
