/** The names of a contract as people read them. */

import { uiTexts } from '../texts/ui-texts.ts';

const WORDS: Readonly<Record<string, string>> = {
  ai: 'AI',
  api: 'API',
  apns: 'APNs',
  fcm: 'FCM',
  id: 'ID',
  ids: 'IDs',
  ip: 'IP',
  json: 'JSON',
  jwks: 'JWKS',
  sha256: 'SHA-256',
  url: 'URL',
  usd: 'USD',
};

/** Returns the label of a field: `Role` for `role_id`, `Created` for `created_at`. */
export function labelOf(name: string): string {
  return sentenceOf(isNamed(name) ? name : name.replace(/(?<!^(external|client|event))_(id|at)$/, ''));
}

/**
 * Returns a member of an enumeration as words: `Awaiting upload` for `awaiting_upload`. A name of
 * several parts, such as `user: invited`, is the words of each.
 */
export function sentenceOf(name: string): string {
  const text = name
    .split(/(:?\s+)/)
    .map((part) => (isNamed(part) ? uiTexts.names[part] : inEnglish(part)))
    .join('');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Returns whether the language of the page has words of its own for a name. */
function isNamed(name: string): boolean {
  return Object.hasOwn(uiTexts.names, name);
}

function inEnglish(name: string): string {
  const words = name.split(/_+/).map((word) => WORDS[word] ?? word);
  return words.join(' ');
}
