import type { Selectable } from 'kysely';
import type { ConversationRow } from '../../../core/resources/conversation.ts';
import type { MessageRow } from '../../../core/resources/message.ts';
import type { Schema } from '../../../platform/db/tables/schema.ts';
import { cutText, oneLine } from './text-cleaner.ts';

/** A message as far as a model sees it. */
export type HistoryMessage = Pick<
  MessageRow,
  'id' | 'kind' | 'author_id' | 'visibility' | 'subject' | 'body'
> &
  Pick<ConversationRow, 'audience'> & {
    readonly author_name: string | null;
    readonly by_customer: boolean;
    readonly files: readonly HistoryFile[] | null;
  };

/**
 * Returns the rest of the text of a mail, which the body of its message leaves out, as lines below
 * that message. Its lines are indented like those of a message.
 */
export function omittedLines(text: string): string {
  return indented(`\n[The mail goes on, with what it quotes or its signature:]\n${text}`);
}

type HistoryFile = Pick<Selectable<Schema['attachments']>, 'id' | 'filename' | 'content_type' | 'url'>;

/**
 * Returns a message as `Ada (internal note): text`, or an empty string if there is nothing to show.
 * Later lines are indented, so that no author can write a line in the name of another.
 */
export function labelled(message: HistoryMessage): string {
  const { subject, body, files } = message;
  const parts = [
    ...(subject === null ? [] : [`Subject: ${oneLine(subject)}`]),
    ...(body === null || body === '' ? [] : [body]),
    ...(files ?? []).map(fileLine),
  ];
  if (parts.length === 0) return '';
  return `${authorOf(message)}: ${indented(parts.join('\n'))}`;
}

function indented(text: string): string {
  return text.replace(/\r\n?|[\u2028\u2029\v\f\u0085]/g, '\n').replaceAll('\n', '\n  ');
}

function authorOf({ author_name: name, by_customer, visibility, audience }: HistoryMessage): string {
  // Characters that would make part of a name look like our own markup are removed.
  const author = name === null ? 'System' : cutText(oneLine(name.replace(/[:()]/g, ' ')), 80);
  if (audience !== 'customer' || visibility === 'system') return author;
  if (visibility === 'internal') return `${author} (internal note)`;
  return `${author} (${by_customer ? 'customer' : 'to the customer'})`;
}

/** Returns a line with the file's id, which tools accept. */
function fileLine({ id, filename, content_type, url }: HistoryFile): string {
  const facts = [filename, content_type, filename === null ? url : null].filter((fact) => fact !== null);
  return `[attachment ${id}: ${oneLine(facts.join(', '))}]`;
}
