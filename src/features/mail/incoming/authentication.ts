import { Resolver } from 'node:dns/promises';
import { Readable } from 'node:stream';
import { domainToASCII } from 'node:url';
import type { ParsedMail } from '@parley/mail-reader/parsed-mail.ts';
import type { AuthenticationResult, EmailVerdict } from '@parley/protocol/resources/email.ts';
import type { AuthenticateResult } from 'mailauth';
import type { ObjectStore } from '../../../core/attachments/storage.ts';
import { unlessAborted } from '../../../platform/lifecycle.ts';
import { isPublicAddress } from '../../../platform/outbound/addresses.ts';
import type { Envelope } from '../transports/envelope.ts';
import type { Arrival } from '../transports/intake.ts';
import { addressesIn } from '../transports/recipients.ts';
import { MAX_HEAD_BYTES, readHead } from '../transports/source-head.ts';
import {
  asResult,
  type Findings,
  NOTHING,
  readAuthenticationResults,
  UNCHECKED,
} from './authentication-results.ts';

export interface AuthenticationOptions {
  readonly store: Pick<ObjectStore, 'open'>;
  /** The name of the server whose Authentication-Results are trusted, or null for no server. */
  readonly authserv: string | null;
  /** DNS lookups. Default: this machine's resolver. */
  readonly resolve?: Resolve | undefined;
  /** Milliseconds for all checks of a mail. Default: TIMEOUT_MS. */
  readonly timeoutMs?: number;
}

export type Resolve = (name: string, type: string) => Promise<string[] | string[][]>;

/**
 * Returns whether the sender of a mail is proven (docs/contract.md#verdicts). This server checks it
 * if it is the MX and knows the sending client; otherwise the headers of the trusted server in
 * front decide.
 */
export async function authenticateMail(
  options: AuthenticationOptions,
  arrival: CheckedMail,
): Promise<EmailVerdict> {
  const { authserv } = options;
  const { envelope, mail } = arrival;
  // A private address belongs to a server of the operator that relayed the mail.
  if (envelope.transport === 'smtp' && envelope.client !== null && isPublicAddress(envelope.client.address)) {
    return judge('checked', mail, await check(options, arrival));
  }
  // If no header was readable, neither was the header of the trusted server.
  if (authserv !== null && mail.headers.length === 0) return judge('header', mail, UNCHECKED);
  const noted = authserv === null ? undefined : readAuthenticationResults(mail.headers, authserv);
  return noted === undefined ? judge('none', mail, NOTHING) : judge('header', mail, noted);
}

type AuthoredMail = Pick<ParsedMail, 'headers' | 'from'>;

type CheckedMail = Pick<Arrival, 'envelope' | 'source'> & { readonly mail: AuthoredMail };

function judge(source: EmailVerdict['source'], mail: AuthoredMail, findings: Findings): EmailVerdict {
  const { spf, dkim, dmarc } = findings;
  return { source, spf, dkim, dmarc, result: resultOf(mail, findings) };
}

function resultOf(mail: AuthoredMail, findings: Findings): EmailVerdict['result'] {
  const { spf, spfDomain, refusedDomains, dkimDomains, dmarc, fromDomain } = findings;
  const [domain, ...others] = authorDomains(mail);
  // A mail has one author. With several, one could be proven and another shown; without any,
  // nothing is proven.
  if (others.length > 0) return 'fail';
  if (domain === undefined) return findings === NOTHING ? 'none' : 'fail';
  if (fromDomain !== null && asciiOf(fromDomain) !== domain) return 'fail';
  if (dmarc === 'pass' || dmarc === 'fail') return dmarc;
  if (dkimDomains.some((signed) => covers(signed, domain))) return 'pass';
  if (refusedDomains.some((refused) => covers(refused, domain))) return 'fail';
  return spf === 'pass' && spfDomain !== null && covers(spfDomain, domain) ? 'pass' : 'none';
}

/**
 * Returns the domains of the addresses in `From`, beginning with the shown one. Two fields count as
 * two authors. If the shown address is in no field, there is no author.
 */
function authorDomains({ headers, from }: AuthoredMail): string[] {
  const fields = headers.filter(({ name }) => name === 'from');
  // `Sender` replaces a `From` without an address, and no server checks it.
  if (!fields.some(({ value }) => value.toLowerCase().includes(from?.address ?? ''))) return [];
  const addresses = [from?.address ?? [], fields.flatMap(({ value }) => addressesIn(value))].flat();
  const domains = addresses.map((address) => asciiOf(address.slice(address.lastIndexOf('@') + 1)));
  return [...new Set(domains), ...fields.slice(1).map(({ value }) => value)];
}

function asciiOf(domain: string): string {
  return domainToASCII(domain) || domain.toLowerCase();
}

/** Returns whether the owner of one domain speaks for the other: the same or one below it. */
function covers(owner: string, domain: string): boolean {
  const name = asciiOf(owner);
  return name === domain || (name.includes('.') && domain.endsWith(`.${name}`));
}

/**
 * Returns the findings of this server's checks. Rejects only if the store fails. An uncheckable
 * claim is not proven; otherwise a sender could make checks fail.
 */
async function check(
  { store, resolve = systemResolve(), timeoutMs = TIMEOUT_MS }: AuthenticationOptions,
  { envelope, mail, source: { key } }: CheckedMail,
): Promise<Findings> {
  if (mail.headers.filter(({ name }) => SIGNATURES.has(name)).length > MAX_SIGNATURES) return UNCHECKED;
  const source = await store.open(key);
  if (source === undefined) throw new Error('the source of a mail is gone');
  const { head, bytes } = await readHead(source.read());
  // An error of the store, which the checks would blame on the mail.
  let failure: unknown;
  const input = Readable.from(
    noting(bytes, (error) => {
      failure = error;
    }),
  );
  // The checks may end before the stream, so that nothing listens to it any more.
  input.on('error', () => {});
  try {
    // The checks keep the whole header section in memory.
    if (head.length >= MAX_HEAD_BYTES) return UNCHECKED;
    return await unlessAborted(authenticate(input, envelope, resolve), AbortSignal.timeout(timeoutMs));
  } catch {
    if (failure !== undefined) throw failure;
    return UNCHECKED;
  } finally {
    input.destroy();
  }
}

async function* noting(
  bytes: AsyncIterable<Buffer>,
  note: (error: unknown) => void,
): AsyncGenerator<Buffer, void> {
  try {
    yield* bytes;
  } catch (error) {
    note(error);
    throw error;
  }
}

const TIMEOUT_MS = 30_000;

const SIGNATURES: ReadonlySet<string> = new Set(['dkim-signature', 'arc-message-signature']);
/** Most signatures; each may require another hash of the whole body. */
const MAX_SIGNATURES = 16;

async function authenticate(
  input: Readable,
  { sender, client }: Envelope,
  resolver: Resolve,
): Promise<Findings> {
  const mailauth = await import('mailauth');
  const found = await mailauth.authenticate(input, {
    ip: client!.address,
    helo: client!.helo,
    sender: sender ?? '',
    resolver,
    disableArc: true,
    disableBimi: true,
  });
  return findingsOf(found);
}

function findingsOf({ spf, dkim, dmarc }: AuthenticateResult): Findings {
  const signatures = dkim.results ?? [];
  // A signature of only the beginning would let anyone write the rest.
  const isWhole = (one: (typeof signatures)[number]) =>
    one.status.result === 'pass' && !one.status.underSized;
  const valid = signatures.filter(isWhole);
  const spfResult = asResult(spf ? spf.status.result : 'none');
  const spfDomain = (spf ? spf.domain : undefined) ?? null;
  return {
    spf: spfResult,
    spfDomain,
    refusedDomains: spfResult === 'fail' && spfDomain !== null ? [spfDomain] : [],
    dkim: valid.length > 0 ? 'pass' : unprovenOf(signatures[0]?.status.result),
    dkimDomains: valid.flatMap(({ signingDomain }) => signingDomain ?? []),
    dmarc: dmarcOf(dmarc),
    fromDomain: (dmarc ? dmarc.status.header?.from : undefined) ?? null,
  };
}

function unprovenOf(word = 'none'): AuthenticationResult {
  return word === 'pass' ? 'neutral' : asResult(word);
}

function dmarcOf(dmarc: AuthenticateResult['dmarc']): AuthenticationResult {
  // There is not exactly one author domain.
  if (!dmarc) return 'fail';
  const result = asResult(dmarc.status.result);
  const { spf, dkim } = dmarc.alignment ?? {};
  const isPartial = result === 'pass' && dkim?.underSized && !spf?.result;
  return isPartial ? 'fail' : result;
}

/** Returns a resolver that delays the waiting mails for seconds if a name server is silent. */
function systemResolve(): Resolve {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  return async (name, type) => (await resolver.resolve(name, type)) as string[] | string[][];
}
