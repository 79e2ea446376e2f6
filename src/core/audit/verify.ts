import {
  type AuditCheckpoint,
  type AuditErasure,
  type AuditHead,
  type AuditLink,
  GENESIS,
  hashDetails,
  hashLink,
  LINK_FIELDS,
} from './chain.ts';
import type { Signed, TrustedKeys } from './signing-key.ts';

export interface VerifyOptions {
  /** The lines of the file that `exportAudit` wrote. */
  readonly lines: AsyncIterable<string> | Iterable<string>;
  readonly trusted: TrustedKeys;
  /** Heads of the account that were kept elsewhere. */
  readonly heads?: readonly object[];
}

export interface Verification {
  readonly account_id: string;
  readonly links: number;
  /** Links that a checkpoint replaced. */
  readonly purged: number;
  /** Links whose details were erased. */
  readonly erased: number;
  readonly head: Signed<AuditHead> | null;
  /** Kept heads that the chain contains. */
  readonly heads_contained: number;
  /** Kept heads whose link was purged, so that nothing shows whether the chain contained them. */
  readonly heads_purged: number;
}

/** The first violation in an export, as a sentence that names the row. */
export class TamperedError extends Error {}

/**
 * Verifies an export without a database. Rejects with TamperedError if anything in it was changed,
 * moved, removed or added, or if it lacks one of the kept heads.
 */
export async function verifyExport({ lines, trusted, heads = [] }: VerifyOptions): Promise<Verification> {
  const chain = new ChainReader(trusted, heads);
  let number = 0;
  for await (const text of lines) {
    number++;
    if (text.trim() !== '') chain.read(parse(text, number), number);
  }
  return chain.end();
}

function parse(text: string, line: number): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Text that is not JSON is refused in the same way.
  }
  throw new TamperedError(`Line ${line} is not a JSON object.`);
}

class ChainReader {
  readonly #trusted: TrustedKeys;
  readonly #heads: readonly Partial<AuditHead>[];
  #accountId: string | undefined;
  /** The number and hash of the last link, or of the last link that a checkpoint replaced. */
  #number = 0;
  #hash = GENESIS;
  #head: Signed<AuditHead> | null = null;
  #counts = { links: 0, purged: 0, erased: 0, heads_contained: 0, heads_purged: 0 };

  constructor(trusted: TrustedKeys, heads: readonly object[]) {
    this.#trusted = trusted;
    this.#heads = heads;
  }

  /** Throws TamperedError. */
  read(value: Readonly<Record<string, unknown>>, line: number): void {
    if (this.#head !== null) throw new TamperedError(`Line ${line} stands behind the head.`);
    if (this.#accountId === undefined) this.#begin(value);
    else if (value.object === 'audit_link') this.#link(value as unknown as AuditLink);
    else if (value.object === 'audit_checkpoint')
      this.#checkpoint(value as unknown as Signed<AuditCheckpoint>);
    else if (value.object === 'audit_head') this.#end(value as unknown as Signed<AuditHead>);
    else throw new TamperedError(`Line ${line} is neither a link nor a checkpoint nor a head.`);
  }

  /** Throws TamperedError. */
  end(): Verification {
    if (this.#accountId === undefined)
      throw new TamperedError('The file is empty: it is no export of an audit.');
    if (this.#head === null && this.#number > 0) {
      throw new TamperedError(`The head is missing behind link ${this.#number}.`);
    }
    const [beyond] = this.#heads.filter(({ number }) => Number(number) > this.#number);
    if (beyond !== undefined) {
      throw new TamperedError(
        `The chain ends with link ${this.#number}, before the kept head of link ${beyond.number}: its newest links were cut.`,
      );
    }
    return { account_id: this.#accountId, ...this.#counts, head: this.#head };
  }

  #begin({ object, account_id: accountId }: Readonly<Record<string, unknown>>): void {
    if (object !== 'audit_export' || typeof accountId !== 'string') {
      throw new TamperedError('The first line is not that of an export of an audit.');
    }
    this.#accountId = accountId;
    for (const head of this.#heads) {
      this.#requireSigned(head, 'audit_head', `The kept head of link ${head.number}`);
      if (typeof head.number !== 'number') throw new TamperedError('A kept head has no number.');
    }
    this.#compare();
  }

  #link(link: AuditLink): void {
    const { number } = link;
    const name = `Link ${number} (${link.id}, ${link.action}, ${link.created_at})`;
    this.#requireNext(number, name);
    const unknown = Object.keys(link).find((field) => !FIELDS.has(field));
    if (unknown !== undefined) throw new TamperedError(`${name} has a field ${unknown} that was not sealed.`);
    if (hashLink(this.#hash, this.#accountId!, link) !== link.hash) {
      throw new TamperedError(
        `${name} was changed, or the links before it were: its hash is not that of its content.`,
      );
    }
    this.#requireDetails(link, name);
    this.#number = number;
    this.#hash = link.hash;
    this.#counts.links++;
    this.#compare();
  }

  #requireDetails(link: AuditLink, name: string): void {
    const { details, salt, erasure } = link;
    if (salt !== null) {
      const isOwn = typeof salt === 'string' && typeof details === 'object' && details !== null;
      if (
        erasure === null &&
        isOwn &&
        hashDetails(Buffer.from(salt, 'base64url'), details) === link.details_hash
      ) {
        return;
      }
      throw new TamperedError(`${name} has other details than those that were sealed.`);
    }
    if (erasure === null)
      throw new TamperedError(`${name} has lost its details, and nothing states that they were erased.`);
    this.#requireSigned(erasure, 'audit_erasure', `The erasure of the details of link ${link.number}`);
    if ((erasure as AuditErasure).number !== link.number || Object.keys(details ?? { none: 0 }).length > 0) {
      throw new TamperedError(`${name} has details that were added after the erasure.`);
    }
    this.#counts.erased++;
  }

  #checkpoint(checkpoint: Signed<AuditCheckpoint>): void {
    const { first, last, hash } = checkpoint;
    const name = `The checkpoint of the links ${first} to ${last}`;
    this.#requireSigned(checkpoint, 'audit_checkpoint', name);
    this.#requireNext(first, name);
    this.#counts.heads_purged += this.#heads.filter(
      ({ number }) => Number(number) >= first && Number(number) < last,
    ).length;
    this.#number = last;
    this.#hash = hash;
    this.#counts.purged += last - first + 1;
    this.#compare();
  }

  #end(head: Signed<AuditHead>): void {
    this.#requireSigned(head, 'audit_head', 'The head');
    if (head.number !== this.#number) {
      throw new TamperedError(
        `The head is that of link ${head.number}, but the chain ends with link ${this.#number}.`,
      );
    }
    if (head.hash !== this.#hash) {
      throw new TamperedError(
        `The head was signed for another chain: the hash of its link ${head.number} differs.`,
      );
    }
    this.#head = head;
  }

  #requireNext(number: number, name: string): void {
    const expected = this.#number + 1;
    if (number === expected) return;
    const problem =
      typeof number === 'number' && number > expected
        ? `link ${expected} is missing before it`
        : `it stands where link ${expected} belongs`;
    throw new TamperedError(`${name} is out of place: ${problem}.`);
  }

  #requireSigned(document: object, object: string, name: string): void {
    const {
      object: is,
      account_id: accountId,
      key_id: keyId,
    } = document as Readonly<Record<string, unknown>>;
    if (is !== object) throw new TamperedError(`${name} is not an ${object}.`);
    if (accountId !== this.#accountId) throw new TamperedError(`${name} is that of another account.`);
    const verdict = this.#trusted.verify(document);
    if (verdict === 'valid') return;
    throw new TamperedError(
      verdict === 'unknown_key'
        ? `${name} is signed by the key ${keyId}, which is not among the given ones.`
        : `${name} was changed: its signature is not valid.`,
    );
  }

  /** Compares the current link with the kept heads of its number. */
  #compare(): void {
    for (const { number, hash } of this.#heads) {
      if (number !== this.#number) continue;
      if (hash !== this.#hash) {
        throw new TamperedError(
          `Link ${number} is not the one of the kept head: the chain up to it was rewritten.`,
        );
      }
      this.#counts.heads_contained++;
    }
  }
}

const FIELDS: ReadonlySet<string> = new Set(['object', ...LINK_FIELDS]);
