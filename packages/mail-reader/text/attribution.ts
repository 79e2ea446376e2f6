/** Whether a sentence is that of a mail client above a quote, and how surely. */
export type Attribution = 'none' | 'likely' | 'sure';

/** Clients wrap it after 72 characters or so. */
export const MAX_ATTRIBUTION_LINES = 4;

/**
 * Returns whether the lines, joined by blanks, are exactly what clients write above a quote in any
 * of the usual languages, such as `On 3 Nov 2026 at 16:02, Ada wrote:`. It is `sure` where date and
 * time begin it. Without a date or an address, as in `The page says:`, it is `none`.
 */
export function attributionOf(text: string): Attribution {
  if (text.length > MAX_CHARACTERS || !ENDS_AS_ONE.test(text)) return 'none';
  const line = text.replace(INVISIBLE, '').replace(/\s+/g, ' ').trim();
  const bare = line.replace(/^[*_-]+ ?/, '');
  if (!BEGINS_WITH_DATE.test(bare)) return BEGINS_WITH_NAME.test(bare) ? 'likely' : 'none';
  const hasTime = TIME_OF_DAY.test(bare);
  if (!VERB.test(bare) && !(hasTime && ADDRESS.test(bare))) return 'none';
  return hasTime ? 'sure' : 'likely';
}

/** Returns whether the last character of a line permits it to be the end of an attribution. */
export function canEndAttribution(line: string): boolean {
  const last = line.trimEnd().at(-1) ?? '';
  return last > '~' || ':*-'.includes(last);
}

/** A part of a date, such as `3.11.`, is none. */
export const TIME_OF_DAY = /(?<![\d.])\d{1,2} ?[:.h時时点點시] ?\d{2}(?![\d.])/;

const MAX_CHARACTERS = 300;

/** With a colon, in bold or not, or with the dashes that it began with. */
const ENDS_AS_ONE = /[:：]\**\p{Cf}*\s*$|^\s*-{2,} .* -{2,}\s*$/u;
/** Marks of direction, which clients put around names and addresses. */
const INVISIBLE = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const ADDRESS = /[<([][^<>()[\]]{0,80}@[^<>()[\]]{0,80}[>)\]]/;

/** With a year, which sentences of people that begin in the same way seldom have. */
const DATE = [
  String.raw`\d{1,4}[./-] ?\d{1,2}[./-] ?\d{2,4}`,
  String.raw`\d{1,2}(?:st|nd|rd|th|er|º|\.)?(?: de)? \p{L}{2,12}[.׳']?(?: de)?,? (?:\d{1,2}, )?(?:19|20)\d{2}`,
  String.raw`\p{L}{3,12}\.? \d{1,2}(?:st|nd|rd|th)?,? (?:19|20)\d{2}`,
  String.raw`(?:19|20)\d{2}(?: ?[年년]|\. \p{L}{2,12}\.? \d{1,2})`,
].join('|');

/** In place of a word, weekdays may stand before the date, also alone. */
const BEGINS_WITH_DATE = new RegExp(
  `^(?:(?:${[
    'On|At|Am|Le|El|Il(?: giorno)?|Op|Em|No dia|Den|På|W dniu|Dnia|Dne|Dňa|Dana|Pe|În|Στις|В|У',
    'Vào|Ngày|Pada(?: tanggal)?|Þann|בתאריך|في|在|于|於|เมื่อ',
  ].join('|')}) ?(?:\\S{1,14} ){0,2}|(?:\\S{1,14} )?)(?:${DATE})`,
  'u',
);

const VERBS = [
  'wrote|writes|schrieb|geschrieben|écrit|escribió|escrito|escrit|scritto|scrive|schreef|geschreven',
  'escreveu|skrev|skrifaði|kirjoitti|kirjutas|napisał\\(?a?\\)?|pisze|napsala?|napísala?|napisala?o?',
  'пишет|пише|написала?|написав|написао|yazdı|έγραψε|כתבה?|كتب|scris|írta|viết|menulis|rašė|rakstīja',
].join('|');
/** Without blanks around them, as these languages have it. */
const JOINED_VERBS = '[写寫]道|書きました|のメール|작성|썼습니다|เขียน';
const VERB = new RegExp(`(?<!\\p{L})(?:${VERBS})(?!\\p{L})|${JOINED_VERBS}`, 'u');

/** A name with its address, perhaps the date, and the verb; or a name, the verb and the date. */
const NAME = '["\'“„«]?[^\\s<>()[\\]@:;!?]+(?: [^\\s<>()[\\]@:;!?]+)';
const BEGINS_WITH_NAME = new RegExp(
  `^(?:${NAME}{0,7} ?${ADDRESS.source},? ?(?:(?:[于於] ?|on |am |le )?\\d.{0,60}?)?` +
    `(?:(?:a|ha|hat|het volgende|ezt|şunu|tarihinde şunu) )?(?:(?:${VERBS})(?!\\p{L})|${JOINED_VERBS})|` +
    `${NAME}{0,3} (?:${VERBS})(?: (?:am|on|op|le|el|il|em|den|dnia|dne|в))? (?:\\S{1,14} )?(?:${DATE}))`,
  'u',
);
