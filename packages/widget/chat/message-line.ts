import { type MessageText, previewOf } from '@parley/markdown/message-text.ts';
import type { ChatMessage } from '@parley/protocol/resources/chat-message.ts';
import type { WidgetTexts } from '../texts/widget-texts.ts';

type Line = MessageText & Pick<Partial<ChatMessage>, 'event'>;

/**
 * Returns a message as one line of plain text, in the widget's language where it is no person's.
 */
export function lineOf(message: Line, texts: WidgetTexts): string {
  return eventTextOf(message, texts) ?? (previewOf(message) || texts.attachment);
}

/** Returns the text of a message of the service; undefined for one of a person. */
export function eventTextOf({ kind, event, body }: Line, texts: WidgetTexts): string | undefined {
  if (kind !== 'system_event') return undefined;
  // An event of a later version has no text here, and the body is in English.
  return (event && texts[event.type]) ?? body ?? '';
}
