/**
 * The folding of the search (docs/contract.md#how-words-are-compared), and entries that have the
 * one of the version before.
 */

import { FOLDING, fold } from '@parley/protocol/folding.ts';
import { newId } from '@parley/protocol/ids.ts';
import t from 'tap';
import { EARLIER, earlierDocumentWords } from '../../src/features/search/earlier-words.ts';
import { highlightsOf } from '../../src/features/search/excerpt.ts';
import { indexPart } from '../../src/features/search/indexer.ts';
import { MESSAGES } from '../../src/features/search/kinds.ts';
import { matchFields } from '../../src/features/search/match.ts';
import { parseEarlierQuery, parseQuery } from '../../src/features/search/query.ts';
import { readResults } from '../../src/features/search/results.ts';
import { documentWords, wordsOf } from '../../src/features/search/words.ts';
import { createGround } from '../support/timeline.ts';

const ground = await createGround(t);
const { database, conversationId } = ground;

/** A word of each class, and other ways to write it. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  Müller: ['muller', 'MÜLLER', 'Müller'.normalize('NFD')],
  Mañana: ['manana', 'Mañana'.normalize('NFD')],
  Łódź: ['lodz', 'ŁÓDŹ'],
  'Đà Nẵng': ['da nang', 'Đà Nẵng'.normalize('NFD')],
  Ærøskøbing: ['aeroskobing'],
  'Liefer\u00adschein': ['lieferschein', 'Liefer\u200bschein', 'Liefer\ufeffschein'],
  مـحـمـد: ['محمد', 'مُحَمَّد'],
  کتابی: ['كتابي', 'كتابى'],
  ['한국어'.normalize('NFD')]: ['한국어', '국어'],
  ﾊﾞｽ: ['バス', 'バス'.normalize('NFD')],
  ဥစ္စာဦး: ['ဥစ္စာဦး'.normalize('NFD')],
  'Hafen ٣٤': ['hafen 34'],
  Oʼneil: ["o'neil", 'O’Neil'],
};

t.test('every letter and digit is found by each of its forms, and by the words of before', (t) => {
  const unlike: string[] = [];
  const unfound: string[] = [];
  const wordsBy = (text: string) => documentWords(text).join(' ');
  for (let point = 0; point <= 0x1ffff; point++) {
    const character = String.fromCodePoint(point);
    if (/\p{Unified_Ideograph}|[\p{Cn}\p{Co}\p{Cs}]/u.test(character)) continue;
    const text = `a${character}a`;
    const forms = /[\p{L}\p{Nd}\p{Nl}]/u.test(character) ? ['NFC', 'NFD', 'NFKC', 'NFKD'] : [];
    if (forms.some((form) => wordsBy(text.normalize(form)) !== wordsBy(text))) unlike.push(character);
    const beside = `漢${character}字`;
    if (/\p{L}/u.test(character) && wordsBy(beside.normalize('NFD')) !== wordsBy(beside))
      unlike.push(character);
    for (const one of [text, beside]) {
      const words = new Set([...documentWords(one), ...earlierDocumentWords(one)]);
      const isFound = wordsOf(one, 'document', EARLIER).every((word) => words.has(word.text));
      if (!isFound) unfound.push(character);
    }
  }
  t.strictSame(unlike, []);
  t.strictSame(unfound, []);
  t.end();
});

t.test('ranges count units of the text as it was written', (t) => {
  for (const [written, others] of Object.entries(WORDS)) {
    for (const q of [written, ...others]) {
      const text = `👍 ${written} end`;
      const match = matchFields(parseQuery(q), [{ name: 'body', text, actorId: null }]);
      const [highlight] = highlightsOf(match?.found ?? []);
      const marked =
        highlight?.ranges.map(({ start, end }) => highlight.text.slice(start, end)).join(' ') ?? '';
      // Punctuation and blanks between words may be left out.
      const letters = fold(marked).replaceAll(/[' ]/g, '');
      const isMarked = letters === (q === '국어' ? q : fold(written).replaceAll(/[' ]/g, ''));
      t.ok(isMarked, `${marked} for ${q} in ${text}`);
    }
  }
  t.end();
});

t.test('entries of the version before: found as before, folded behind, and then alike', async (t) => {
  const ids = new Map<string, string>();
  for (const word of Object.keys(WORDS)) ids.set(word, await sendBefore(word));
  const missed = async (queries: (word: string) => readonly string[]) => {
    const found: string[] = [];
    for (const [word, id] of ids) {
      for (const q of queries(word)) if ((await search(q)).join() !== id) found.push(q);
    }
    return found;
  };
  t.strictSame(await missed((word) => [word]), [], 'as they were written');
  t.strictSame(await missed(() => ['lodz']).then(({ length }) => length), ids.size, 'not yet');
  const foldings = async () => {
    const { rows } = await database.pool.query<{ folding: number; n: number }>(
      'SELECT folding, count(*)::int AS n FROM search_entries WHERE id = ANY($1) GROUP BY 1',
      [[...ids.values()]],
    );
    return rows;
  };
  t.strictSame(await foldings(), [{ folding: 1, n: ids.size }]);
  await indexAll();
  t.strictSame(await foldings(), [{ folding: FOLDING, n: ids.size }]);
  t.strictSame(await missed((word) => [word, ...WORDS[word]!]), []);

  await t.test('what a node of the version before updates is folded again', async (t) => {
    const id = ids.get('Łódź')!;
    await writeBefore(id, 'Łódź');
    t.match(await foldings(), [{ folding: 1, n: 1 }, {}]);
    await indexAll();
    t.strictSame(await foldings(), [{ folding: FOLDING, n: ids.size }]);
    t.strictSame(await search('lodz'), [id]);
  });

  await t.test('a node of the version before finds what this one has written', async (t) => {
    for (const [word, id] of ids) {
      const lexemes = wordsOf(word, 'query', EARLIER).map(({ text }) => lexemeOf(text));
      const { rows } = await database.pool.query<{ id: string }>(
        'SELECT id FROM search_entries WHERE terms @@ $1::tsquery AND id = ANY($2)',
        [lexemes.join(' & '), [...ids.values()]],
      );
      t.strictSame(rows, [{ id }], word);
    }
  });

  await t.test('an entry without its message goes', async (t) => {
    const gone = newId('message');
    await writeBefore(gone, 'gone');
    await indexAll();
    t.equal((await database.pool.query('SELECT FROM search_entries WHERE id = $1', [gone])).rowCount, 0);
    t.equal(await indexPart(database), undefined, 'nothing is left to do');
  });
});

t.test('only words that differ are asked for twice', (t) => {
  for (const q of ['harbor crane', 'Müller', '東京', 'straße']) t.strictSame(parseEarlierQuery(q), [], q);
  t.match(parseEarlierQuery('łódź'), [[{ text: 'łodz' }]]);
  t.end();
});

/** Sends a message, of which a node of the version before writes the entry; returns its id. */
async function sendBefore(body: string): Promise<string> {
  const id = newId('message');
  await database.pool.query(
    `INSERT INTO messages (id, account_id, conversation_id, sequence, kind, status, visibility, body)
     SELECT $1, $2, $3, coalesce(max(sequence), 0) + 1, 'chat', 'sent', 'internal', $4
     FROM messages WHERE conversation_id = $3`,
    [id, ground.accountId, conversationId, body],
  );
  await writeBefore(id, body);
  return id;
}

/** Writes an entry by the statement of the version before. */
async function writeBefore(id: string, body: string): Promise<void> {
  const terms = wordsOf(body, 'document', EARLIER).map(({ text }) => lexemeOf(text));
  await database.pool.query(
    `INSERT INTO search_entries AS e (id, conversation_id, account_id, at, terms)
     VALUES ($1, $2, $3, clock_timestamp(), $4)
     ON CONFLICT (id) DO UPDATE SET terms = excluded.terms WHERE e.terms <> excluded.terms`,
    [id, conversationId, ground.accountId, [`'#${conversationId}'`, ...terms].join(' ')],
  );
}

function lexemeOf(word: string): string {
  return `'${ground.accountId.slice(-6)}:${word}'`;
}

async function search(q: string): Promise<string[]> {
  const results = await readResults(
    database,
    {
      accountId: ground.accountId,
      actor: { id: ground.authorId },
      admin: false,
      customer: false,
      permissions: new Set(),
    } as never,
    MESSAGES,
    {
      phrases: parseQuery(q),
      earlier: parseEarlierQuery(q),
      deadlineMs: Number.POSITIVE_INFINITY,
      conversation_id: conversationId,
    },
    { direction: 'next', after: null, fetch: 26, search: q },
  );
  return results.map(({ row }) => row.id);
}

/** Indexes what is noted or has an earlier folding. */
async function indexAll(): Promise<void> {
  do await database.pool.query('UPDATE search_state SET next_part_at = clock_timestamp()');
  while ((await indexPart(database))?.isFull === true);
}
