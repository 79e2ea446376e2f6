/** The names of a contract as people read them. */

const WORDS: Readonly<Record<string, string>> = {
  ai: 'AI',
  api: 'API',
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
  return sentenceOf(name.replace(/(?<!^(external|client|event))_(id|at)$/, ''));
}

/** Returns a member of an enumeration as words: `Awaiting upload` for `awaiting_upload`. */
export function sentenceOf(name: string): string {
  const words = name.split(/[_\s]+/).map((word) => WORDS[word] ?? word);
  const text = words.join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
