import type { Scope, Search } from './scope.ts';

/**
 * Returns a tsquery for entries that may match. It has only the longest words of a long query,
 * because they narrow most; every word is compared with the message later.
 */
export function indexQuery(
  kind: 'word' | 'name',
  { phrases, authorId, hasFile }: Search,
  { values: [accountId], few }: Scope,
): string {
  const lexemes = lexemesOf(accountId);
  const words = new Map<string, string>();
  for (const { text, isPrefix } of phrases.flatMap((phrase) => phrase.words)) {
    words.set(text, `${quoted(lexemes[kind](text))}${isPrefix ? ':*' : ''}`);
  }
  const longest = [...words].sort(([a], [b]) => b.length - a.length).slice(0, MAX_INDEX_WORDS);
  const conditions = longest.map(([, condition]) => condition);
  if (authorId !== null) conditions.push(quoted(lexemes.author(authorId)));
  if (hasFile) conditions.push(quoted(lexemes.file));
  if (few !== undefined)
    conditions.push(`(${few.map((id) => quoted(lexemes.conversation(id))).join(' | ')})`);
  return conditions.join(' & ');
}

/**
 * What an entry (search_entries.terms) is found by. Words begin with the end of the account's id,
 * so that a query reads no postings of other accounts. Only the row decides which account it
 * belongs to.
 */
export function lexemesOf(accountId: string) {
  const code = accountId.slice(-CODE_LENGTH);
  return {
    /** A word of a message. */
    word: (text: string) => `${code}:${text}`,
    /** A word of a conversation's title, or of the name or address of a member. */
    name: (text: string) => `${code}^${text}`,
    conversation: (id: string) => `#${id}`,
    /** The author of a message, or the actor whose name it is shown under. */
    author: (id: string) => `@${id}`,
    /** Marks messages with an attached file. */
    file: `${code}%`,
  };
}

/** Returns a lexeme in the text form of a tsvector or a tsquery. */
export function quoted(lexeme: string): string {
  return `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

const MAX_INDEX_WORDS = 16;
const CODE_LENGTH = 6;
