import type { ParsedMail } from '@parley/mail-reader/parsed-mail.ts';
import { AUTHENTICATION_RESULTS, type AuthenticationResult } from '@parley/protocol/resources/email.ts';

/** The findings about a mail's domains, by this server or by a server that it trusts. */
export interface Findings {
  readonly spf: AuthenticationResult;
  /** The domain of the envelope, or null if unknown. */
  readonly spfDomain: string | null;
  /** Possible domains of the envelope whose SPF refuses the client. */
  readonly refusedDomains: readonly string[];
  readonly dkim: AuthenticationResult;
  /** Domains with a valid signature of the whole mail. */
  readonly dkimDomains: readonly string[];
  readonly dmarc: AuthenticationResult;
  /** The domain of the `From` header as DMARC saw it, or null if unknown. */
  readonly fromDomain: string | null;
}

/** Nothing is known about the sender. */
export const NOTHING: Findings = {
  spf: 'none',
  spfDomain: null,
  refusedDomains: [],
  dkim: 'none',
  dkimDomains: [],
  dmarc: 'none',
  fromDomain: null,
};

/** Nothing is proven, and no mail program writes such a mail. */
export const UNCHECKED: Findings = {
  ...NOTHING,
  spf: 'permerror',
  dkim: 'permerror',
  dmarc: 'fail',
};

/**
 * Reads the results that the server `authserv` noted in the topmost Authentication-Results header
 * of its name (RFC 8601), or returns undefined if there is none. Servers prepend their headers, so
 * headers of its name further down came with the mail. The name must match exactly: a name with
 * other letters or with comments was not written by the server, and escaped its removal of forged
 * headers.
 *
 * The sender chooses parts of these results, its address and the name of its machine, and many
 * servers do not quote them. A note that cannot be read to its end therefore counts as `fail`. So
 * does a failure that is found only with comments and quotes as plain text, or in another header of
 * that name, because some servers write several.
 */
export function readAuthenticationResults(
  headers: ParsedMail['headers'],
  authserv: string,
): Findings | undefined {
  const notes = headers.flatMap(({ name, value }) =>
    name === 'authentication-results' && startsWithName(value.trim(), authserv) ? [value] : [],
  );
  const top = notes.find((value) => isFrom(value, authserv));
  const refusals = notes.flatMap(refusalsIn);
  const isFailed = notes.some((note) => note.search(DMARC_FAILURE) !== -1);
  if (top === undefined && refusals.length === 0 && !isFailed) return undefined;
  const { isReadable, results } = readNote(top ?? '');
  return {
    ...findingsIn(results),
    refusedDomains: [...new Set(refusals.flatMap(domainsIn))],
    ...((isFailed || !isReadable) && { dmarc: 'fail' }),
  };
}

function startsWithName(value: string, authserv: string): boolean {
  return value.startsWith(authserv) && !/^[a-z0-9._-]/i.test(value.slice(authserv.length));
}

/** Returns whether this place has only the server's name, optionally with the header's version. */
function isFrom(value: string, authserv: string): boolean {
  const [written, version, ...more] = splitOutside(value, ';')[0]!.trim().split(/\s+/);
  return written === authserv && more.length === 0 && /^1?$/.test(version ?? '');
}

/**
 * Returns the text after each `spf=fail` of a note, up to the next semicolon, or to the end of the
 * note if a comment or a quoted text is open there.
 */
function refusalsIn(note: string): string[] {
  const texts: string[] = [];
  for (const { index } of note.matchAll(SPF_FAILURE)) {
    const rest = note.slice(index + 1);
    const text = rest.split(';', 1)[0]!;
    const isOpen = withoutComments(text) === undefined;
    texts.push(isOpen ? rest : text);
    if (isOpen) break;
  }
  return texts;
}

/** A failure begins with a semicolon, even inside comments and quotes. */
const SPF_FAILURE = /;\s*(?:\([^()]*\)\s*)*spf\s*(?:\/\s*\d+\s*)?=\s*(?:hard)?fail(?![a-z0-9-])/gi;
const DMARC_FAILURE = /;\s*(?:\([^()]*\)\s*)*dmarc\s*(?:\/\s*\d+\s*)?=\s*(?:hard)?fail(?![a-z0-9-])/gi;

function domainsIn(text: string): string[] {
  return text.match(/[^\s@=<>()[\]"',:;\\/]+/g)?.filter((word) => word.includes('.')) ?? [];
}

/** Returns the results of a note, and whether all of it was readable. */
function readNote(note: string): { readonly isReadable: boolean; readonly results: readonly Result[] } {
  const [, ...parts] = splitOutside(note, ';');
  const texts = parts.map(withoutComments);
  const results = texts.map((text) => (text === undefined || NO_RESULT.test(text) ? null : resultIn(text)));
  return {
    isReadable: !texts.includes(undefined) && !results.includes(undefined),
    results: results.filter((result) => result !== null && result !== undefined),
  };
}

/** The text after a last semicolon, or from a server that checked nothing. */
const NO_RESULT = /^\s*(?:none\s*)?$/i;

/** Returns the result of a word; unknown words, from other versions and servers, are `neutral`. */
export function asResult(word: string): AuthenticationResult {
  if (word === 'temperr') return 'temperror';
  if (word === 'hardfail') return 'fail';
  return AUTHENTICATION_RESULTS.find((known) => known === word) ?? 'neutral';
}

interface Result {
  readonly method: string;
  readonly result: AuthenticationResult;
  /** Such as `header.d`, in lower case. */
  readonly properties: ReadonlyMap<string, string>;
}

function findingsIn(results: readonly Result[]): Omit<Findings, 'refusedDomains'> {
  const of = (wanted: string) => results.filter(({ method }) => method === wanted);
  const [spf, dkim, dmarc] = [of('spf'), of('dkim'), of('dmarc')];
  const valid = dkim.filter(({ result }) => result === 'pass');
  const mailFrom = spf[0]?.properties.get('smtp.mailfrom');
  return {
    spf: soleOf(spf),
    spfDomain: mailFrom === undefined ? null : mailFrom.slice(mailFrom.lastIndexOf('@') + 1),
    dkim: valid.length > 0 ? 'pass' : (dkim[0]?.result ?? 'none'),
    dkimDomains: valid.flatMap(({ properties }) => signerOf(properties) ?? []),
    dmarc: soleOf(dmarc),
    fromDomain: dmarc[0]?.properties.get('header.from') ?? null,
  };
}

/** Returns the domain of a signature; Gmail names the identity instead. */
function signerOf(properties: Result['properties']): string | undefined {
  return properties.get('header.d') ?? properties.get('header.i')?.replace(/^.*@/, '');
}

/** Returns the only result of SPF or DMARC. Results that differ were not written by one server. */
function soleOf(results: readonly Result[]): AuthenticationResult {
  const found = new Set(results.map(({ result }) => result));
  return found.size > 1 ? 'fail' : (results[0]?.result ?? 'none');
}

/** Reads `spf=pass smtp.mailfrom=example.com`. Returns undefined for any other form. */
function resultIn(text: string): Result | undefined {
  const [first = '', ...rest] = splitOutside(text.replace(/\s*([=/])\s*/g, '$1').trim(), ' ').filter(Boolean);
  const [, name = '', word = ''] = /^([a-z][a-z0-9._-]*)(?:\/\d+)?=(\S+)$/i.exec(first) ?? [];
  const method = name.toLowerCase();
  const properties = propertiesIn(rest);
  const result = { method, result: asResult(word.toLowerCase()), properties: properties ?? new Map() };
  if (!JUDGED.has(method)) return method === '' ? undefined : result;
  if (properties === undefined || !/^[a-z]+$/i.test(word)) return undefined;
  return method === 'spf' && isAmbiguous(properties) ? undefined : result;
}

/** The methods that decide whether a sender is proven. */
const JUDGED: ReadonlySet<string> = new Set(['spf', 'dkim', 'dmarc']);

/**
 * Returns undefined if a word is no property or one has two values: such words come from the middle
 * of a value of the sender.
 */
function propertiesIn(words: readonly string[]): Map<string, string> | undefined {
  const properties = new Map<string, string>();
  for (const word of words) {
    const [, key, value] = /^([a-z0-9.-]+)=(.*)$/i.exec(word.toLowerCase()) ?? [];
    if (key === undefined || value === undefined) return undefined;
    const clean = value.replaceAll('"', '');
    if ((properties.get(key) ?? clean) !== clean) return undefined;
    properties.set(key, clean);
  }
  return properties;
}

/** Returns whether an address stands in a wrong place: the sender's own had a property in it. */
function isAmbiguous(properties: Result['properties']): boolean {
  const mailFrom = properties.get('smtp.mailfrom');
  const others = [...properties].filter(([key]) => key !== 'smtp.mailfrom').map(([, value]) => value);
  return (
    mailFrom !== undefined && (mailFrom.split('@').length > 2 || others.some((value) => value.includes('@')))
  );
}

/** Splits a text outside quoted texts and comments. */
function splitOutside(text: string, at: ';' | ' '): string[] {
  const parts = [''];
  for (const { char, isText } of charactersOf(text)) {
    if (char === at && !isText) parts.push('');
    else parts[parts.length - 1] += char;
  }
  return parts;
}

/** Returns undefined if a comment or a quoted text is not closed. */
function withoutComments(text: string): string | undefined {
  let kept = '';
  let isOpen = false;
  for (const { char, depth, isQuoted } of charactersOf(text)) {
    if (depth === 0 && char !== ')') kept += char;
    else if (depth === 0) kept += ' ';
    isOpen = depth > 0 || isQuoted;
  }
  return isOpen ? undefined : kept;
}

/** Yields each character with the context that it leaves open. */
function* charactersOf(text: string) {
  let depth = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    const isEscape = char === '\\' && (isQuoted || depth > 0);
    if (char === '"' && depth === 0) isQuoted = !isQuoted;
    else if (char === '(' && !isQuoted) depth += 1;
    else if (char === ')' && !isQuoted && depth > 0) depth -= 1;
    yield { char, depth, isQuoted, isText: depth > 0 || isQuoted };
    if (!isEscape) continue;
    at += 1;
    yield { char: text[at] ?? '', depth, isQuoted, isText: true };
  }
}
