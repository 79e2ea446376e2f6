import {
  type AuditCheckpoint,
  type AuditErasure,
  type AuditHandover,
  type AuditHead,
  type AuditLink,
  GENESIS,
  HANDED_OVER,
  hashDetails,
  hashHandover,
  hashLink,
  LINK_FIELDS,
  TamperedError,
} from './chain.ts';
import { ChainKeys } from './chain-keys.ts';
import type { Signed, TrustedKeys } from './signing-key.ts';

export interface VerifyOptions {
  /** The lines of the file that `exportAudit` wrote. */
  readonly lines: AsyncIterable<string> | Iterable<string>;
  /** Trusted keys; hand-overs in the file lead from them to keys of other installations. */
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
  /** How often the account moved to another installation. */
  readonly handovers: number;
  readonly head: Signed<AuditHead> | null;
  /** Kept heads that the chain contains. */
  readonly heads_contained: number;
  /** Kept heads whose link was purged, so that nothing shows whether the chain contained them. */
  readonly heads_purged: number;
}

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
  /** Undefined until the hand-overs are read. */
  #keys: ChainKeys | undefined;
  readonly #handovers: AuditHandover[] = [];
  /** The hashes of hand-overs that no link has named yet. */
  readonly #unnamed = new Set<string>();
  /** Number of hand-over links whose details were erased, so that they name no hand-over. */
  #nameless = 0;
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
    if (this.#accountId === undefined) {
      this.#begin(value);
      return;
    }
    if (value.object === 'audit_handover') {
      if (this.#keys !== undefined)
        throw new TamperedError(`Line ${line} is a hand-over behind the first link.`);
      this.#handovers.push(value as unknown as AuditHandover);
      return;
    }
    this.#open();
    if (value.object === 'audit_link') this.#link(value as unknown as AuditLink);
    else if (value.object === 'audit_checkpoint')
      this.#checkpoint(value as unknown as Signed<AuditCheckpoint>);
    else if (value.object === 'audit_head') this.#end(value as unknown as Signed<AuditHead>);
    else throw new TamperedError(`Line ${line} is neither a link nor a checkpoint nor a head.`);
  }

  /** Throws TamperedError. */
  end(): Verification {
    if (this.#accountId === undefined)
      throw new TamperedError('The file is empty: it is no export of an audit.');
    this.#open();
    if (this.#head === null && this.#number > 0) {
      throw new TamperedError(`The head is missing behind link ${this.#number}.`);
    }
    const [beyond] = this.#heads.filter(({ number }) => Number(number) > this.#number);
    if (beyond !== undefined) {
      throw new TamperedError(
        `The chain ends with link ${this.#number}, before the kept head of link ${beyond.number}: its newest links were cut.`,
      );
    }
    this.#requireHandovers();
    const counts = { ...this.#counts, handovers: this.#handovers.length };
    return { account_id: this.#accountId, ...counts, head: this.#head };
  }

  #begin({ object, account_id: accountId }: Readonly<Record<string, unknown>>): void {
    if (object !== 'audit_export' || typeof accountId !== 'string') {
      throw new TamperedError('The first line is not that of an export of an audit.');
    }
    this.#accountId = accountId;
  }

  /** Begins the chain itself, behind the hand-overs. */
  #open(): void {
    if (this.#keys !== undefined) return;
    this.#keys = new ChainKeys(this.#trusted, this.#accountId!, this.#handovers);
    for (const handover of this.#handovers) this.#unnamed.add(hashHandover(handover));
    for (const head of this.#heads) {
      this.#requireSigned(head, 'audit_head', `The kept head of link ${head.number}`, head.number!);
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
    if (link.action === HANDED_OVER) this.#requireHandover(link, name);
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
    const erasureName = `The erasure of the details of link ${link.number}`;
    this.#requireSigned(erasure, 'audit_erasure', erasureName, link.number);
    if ((erasure as AuditErasure).number !== link.number || Object.keys(details ?? { none: 0 }).length > 0) {
      throw new TamperedError(`${name} has details that were added after the erasure.`);
    }
    this.#counts.erased++;
  }

  #requireHandover({ details, erasure }: AuditLink, name: string): void {
    if (erasure !== null) this.#nameless++;
    else if (!this.#unnamed.delete(String(details.handover))) {
      throw new TamperedError(
        `${name} names a hand-over that is not in the file: it was cut out or changed.`,
      );
    }
  }

  /** Requires that each hand-over is in the chain, as a link that names it. */
  #requireHandovers(): void {
    const beyond = this.#handovers.find(({ number }) => number > this.#number);
    if (beyond !== undefined) {
      throw new TamperedError(
        `The chain ends with link ${this.#number}, before the hand-over of link ${beyond.number}: its newest links were cut.`,
      );
    }
    if (this.#unnamed.size === this.#nameless) return;
    throw new TamperedError(
      this.#unnamed.size > this.#nameless
        ? 'A hand-over is not in the chain: no link names it.'
        : 'A hand-over that a link stands for is not in the file: it was cut out.',
    );
  }

  #checkpoint(checkpoint: Signed<AuditCheckpoint>): void {
    const { first, last, hash } = checkpoint;
    const name = `The checkpoint of the links ${first} to ${last}`;
    this.#requireSigned(checkpoint, 'audit_checkpoint', name, last);
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
    this.#requireSigned(head, 'audit_head', 'The head', head.number);
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

  /** Checks the signature; `number` is the last link of the document. */
  #requireSigned(document: object, object: string, name: string, number: number): void {
    const {
      object: is,
      account_id: accountId,
      key_id: keyId,
    } = document as Readonly<Record<string, unknown>>;
    if (is !== object) throw new TamperedError(`${name} is not an ${object}.`);
    if (accountId !== this.#accountId) throw new TamperedError(`${name} is that of another account.`);
    const verdict = this.#keys!.verify(document, number);
    if (verdict === 'valid') return;
    throw new TamperedError(
      {
        unknown_key: `${name} is signed by the key ${keyId}, which is not among the given ones.`,
        invalid: `${name} was changed: its signature is not valid.`,
        not_its_term: `${name} is signed by the key ${keyId}, whose installation did not have the account at link ${number}.`,
      }[verdict],
    );
  }

  /** Compares the current link with the hand-over and the kept heads of its number. */
  #compare(): void {
    if (this.#handovers.some(({ number, hash }) => number === this.#number && hash !== this.#hash)) {
      throw new TamperedError(
        `The hand-over of link ${this.#number} was signed for another chain: the hash of that link differs.`,
      );
    }
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
