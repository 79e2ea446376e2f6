import { AUTHENTICATION_RESULTS, type AuthenticationResult } from '../../protocol/resources/email.ts';
import type { ParsedMail } from '../reading/parsed-mail.ts';

/** What was found about the domains of a mail, by this server or by one that it trusts. */
export interface Findings {
  readonly spf: AuthenticationResult;
  /** The domain of the envelope; null: not known. */
  readonly spfDomain: string | null;
  readonly dkim: AuthenticationResult;
  /** Domains with a valid signature of the whole mail. */
  readonly dkimDomains: readonly string[];
  readonly dmarc: AuthenticationResult;
  /** The domain of the `From` header as DMARC saw it; null: not known. */
  readonly fromDomain: string | null;
}

/** Nothing is known of the sender. */
export const NOTHING: Findings = {
  ...{ spf: 'none', spfDomain: null, dkim: 'none', dkimDomains: [] },
  ...{ dmarc: 'none', fromDomain: null },
};

/**
 * Reads what the server `authserv` has noted in the topmost Authentication-Results header of its name (RFC 8601); undefined:
 * there is none. Every server writes above what was there, so headers of its name further down came with the mail. The name has
 * to stand as the server writes it: one with other letters or with comments is not from it, and passed where it removes its own.
 */
export function readAuthenticationResults(
  headers: ParsedMail['headers'],
  authserv: string,
): Findings | undefined {
  for (const { name, value } of headers) {
    if (name !== 'authentication-results') continue;
    const [id, ...results] = splitOutside(value, ';');
    const [written, version, ...more] = (id ?? '').trim().split(/\s+/);
    if (written !== authserv || more.length > 0 || !/^1?$/.test(version ?? '')) continue;
    const words = results.map(withoutComments);
    // One that ends within a comment or a quoted text proves nothing.
    return words.includes(undefined) ? NOTHING : findingsIn(words.map((one) => resultIn(one ?? '')));
  }
  return undefined;
}

/** The words of other versions and servers mean that nothing is known. */
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

function findingsIn(results: readonly Result[]): Findings {
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

/** Gmail names the identity in place of its domain. */
function signerOf(properties: Result['properties']): string | undefined {
  return properties.get('header.d') ?? properties.get('header.i')?.replace(/^.*@/, '');
}

/** There is one result of SPF and of DMARC. Several that differ were not written by one server. */
function soleOf(results: readonly Result[]): AuthenticationResult {
  const found = new Set(results.map(({ result }) => result));
  return found.size > 1 ? 'fail' : (results[0]?.result ?? 'none');
}

/** Reads `spf=pass smtp.mailfrom=example.com`. */
function resultIn(text: string): Result {
  const [first = '', ...rest] = splitOutside(text.replace(/\s*([=/])\s*/g, '$1').trim(), ' ').filter(Boolean);
  const [, method = '', word = ''] = /^([a-z-]+)(?:\/\d+)?=([a-z]+)$/i.exec(first) ?? [];
  const properties = rest.flatMap((one): [string, string][] => {
    const [, key, value] = /^([a-z0-9-]+\.[a-z0-9-]+)=(.*)$/i.exec(one) ?? [];
    return key === undefined ? [] : [[key.toLowerCase(), value!.replaceAll('"', '').toLowerCase()]];
  });
  return {
    method: method.toLowerCase(),
    result: asResult(word.toLowerCase()),
    properties: new Map(properties),
  };
}

/** Splits outside of quoted texts and comments. */
function splitOutside(text: string, at: ';' | ' '): string[] {
  const parts = [''];
  for (const { char, isText } of charactersOf(text)) {
    if (char === at && !isText) parts.push('');
    else parts[parts.length - 1] += char;
  }
  return parts;
}

/** Undefined: a comment or a quoted text does not end. */
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

/** Yields the characters with what they stand in, behind each of them. */
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
