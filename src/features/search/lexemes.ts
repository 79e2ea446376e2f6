/**
 * The entries of a block (search_blocks.terms). Words begin with the end of the account's id, so
 * that a query reads no postings of other accounts; which account a block belongs to is decided by
 * its row alone.
 */
export interface Lexemes {
  /** A word of a message. */
  word(text: string): string;
  /** A word of a conversation's title, or of the name or address of a member. */
  name(text: string): string;
  /** The conversation of the block. */
  conversation(id: string): string;
  /** An actor that wrote a message of the block, or under whose name one stands. */
  author(id: string): string;
  /** A message of the block has an attached file. */
  readonly file: string;
}

export function lexemesOf(accountId: string): Lexemes {
  const code = accountId.slice(-CODE_LENGTH);
  return {
    word: (text) => `${code}:${text}`,
    name: (text) => `${code}^${text}`,
    conversation: (id) => `#${id}`,
    author: (id) => `@${id}`,
    file: `${code}%`,
  };
}

/** A lexeme in the text form of a tsvector or a tsquery. */
export function quoted(lexeme: string): string {
  return `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

const CODE_LENGTH = 6;
