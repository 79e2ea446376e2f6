import { cutText } from './text-cleaner.ts';

/** 3.5 bytes a token: right for English, and on the safe side for what takes several bytes a character. */
const BYTES_PER_TOKEN = 3.5;

/** How many tokens a text has, roughly. */
export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** At most so many of them, and a mark where there was more. */
export function cutToTokens(text: string, tokens: number): string {
  const bytes = Buffer.byteLength(text);
  const most = Math.floor(Math.max(tokens, 0) * BYTES_PER_TOKEN);
  return bytes <= most ? text : `${cutText(text, Math.floor((text.length * most) / bytes))} [cut]`;
}
