import { cutText } from './text-cleaner.ts';

/** Right for English, and a safe estimate for scripts with several bytes a character. */
const BYTES_PER_TOKEN = 3.5;

/** Returns the approximate number of tokens of a text. */
export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** Returns at most `tokens` tokens of the text, with a mark if it was cut. */
export function cutToTokens(text: string, tokens: number): string {
  const bytes = Buffer.byteLength(text);
  const most = Math.floor(Math.max(tokens, 0) * BYTES_PER_TOKEN);
  return bytes <= most ? text : `${cutText(text, Math.floor((text.length * most) / bytes))} [cut]`;
}
