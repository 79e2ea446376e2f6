import { plainLine, shortened } from './plain-line.ts';

/** The text of a message, and the kind of the message, which one that is being sent has not yet. */
export interface MessageText {
  readonly kind?: string;
  readonly body: string | null;
}

/** Returns whether the text is no Markdown: that of a mail is shown as its author wrote it. */
export function isPlainText({ kind }: MessageText): boolean {
  return kind === 'email';
}

/** Returns a message as one line of plain text, at most 280 UTF-16 units; "" without a text. */
export function previewOf(message: MessageText): string {
  const text = message.body ?? '';
  return isPlainText(message) ? shortened(text) : plainLine(text);
}
