import { type MessageText, previewOf } from '@parley/markdown/message-text.ts';
import type { WidgetTexts } from '../texts/texts.ts';

/** Returns a message as one line of plain text, in the widget's language where it is no person's. */
export function lineOf(message: MessageText, texts: WidgetTexts): string {
  return message.kind === 'system_event'
    ? eventTextOf(message, texts)
    : previewOf(message) || texts.attachment;
}

/** Returns the text of a message of the service. */
export function eventTextOf({ body }: MessageText, texts: WidgetTexts): string {
  if (body === 'The conversation was resolved.') return texts.resolved;
  if (body === 'The conversation was reopened.') return texts.reopened;
  return body ?? '';
}
