import { type AuditHandover, TamperedError } from './chain.ts';
import { TrustedKeys, type Verdict } from './signing-key.ts';

/** The links `from` to `to`, which an installation sealed while it had the account. */
interface Term {
  readonly from: number;
  readonly to: number;
  readonly keyIds: ReadonlySet<string>;
}

/**
 * The keys whose signatures count in the chain of one account. A hand-over extends the trust in one
 * of its keys to the other key, and limits both. The key of an installation counts for links up to
 * its own hand-over, and for heads only from where it took over. A trusted key that no hand-over
 * names is not limited.
 */
export class ChainKeys {
  readonly #keys: TrustedKeys;
  readonly #terms: readonly Term[];

  /**
   * `handovers`: as read from a file or rows, in the order of the chain. Throws TamperedError
   * unless two installations signed each, and the first of them had the account.
   */
  constructor(given: TrustedKeys, accountId: string, handovers: readonly AuditHandover[]) {
    const found = handovers.map((handover) => readHandover(handover, accountId));
    for (const [at, { name, number }] of found.entries()) {
      const before = found[at - 1];
      if (before === undefined) continue;
      if (number <= before.number) {
        throw new TamperedError(`${name} is out of place: that of link ${before.number} stands before it.`);
      }
      if (!follows(found, at, given)) {
        throw new TamperedError(
          `${name} is by the key ${found[at]!.from}, which did not have the account then: the hand-over before it is to the key ${before.to}.`,
        );
      }
    }
    const last = found.at(-1);
    if (last !== undefined && !namedIn(found).some((id) => given.ids.includes(id))) {
      throw new TamperedError(
        `${last.name} is signed by the keys ${last.from} and ${last.to}, which are not among the given ones.`,
      );
    }
    const learned = handovers.flatMap((handover) => [
      handover.from_public_key,
      handover.to_public_key,
      ...handover.from_old_public_keys,
    ]);
    this.#keys = new TrustedKeys([...given.publicKeys, ...learned]);
    this.#terms = termsOf(found);
  }

  /** Verifies a document; `number` is the last link that it covers. */
  verify(document: object, number: number): Verdict | 'not_its_term' {
    const verdict = this.#keys.verify(document);
    if (verdict !== 'valid') return verdict;
    const { object, key_id: keyId } = document as { readonly object?: unknown; readonly key_id: string };
    const terms = this.#terms.filter(({ keyIds }) => keyIds.has(keyId));
    if (terms.length === 0) return 'valid';
    // A later installation erases and purges what earlier ones sealed.
    const counts = ({ from, to }: Term) => number <= to && (object !== 'audit_head' || number >= from);
    return terms.some(counts) ? 'valid' : 'not_its_term';
  }
}

interface Found {
  readonly name: string;
  readonly number: number;
  /** Ids of keys. */
  readonly from: string;
  readonly to: string;
  readonly old: readonly string[];
}

/** Throws TamperedError unless both keys signed it, for this account. */
function readHandover({ signatures, ...content }: AuditHandover, accountId: string): Found {
  const { number, from_key_id: from, to_key_id: to } = content;
  const name = `The hand-over of link ${number}`;
  if (content.object !== 'audit_handover') throw new TamperedError(`${name} is not an audit_handover.`);
  if (content.account_id !== accountId) throw new TamperedError(`${name} is that of another account.`);
  if (!Array.isArray(signatures) || signatures.length !== 2) {
    throw new TamperedError(`${name} does not have two signatures.`);
  }
  const signers = [
    ['former', from, content.from_public_key],
    ['new', to, content.to_public_key],
  ] as const;
  for (const [at, [which, keyId, publicKey]] of signers.entries()) {
    const signature = { key_id: keyId, public_key: publicKey, signature: signatures[at] };
    // Fields that a stranger adds to the content are verified with it.
    if (keysNamed([publicKey], name).verify({ ...signature, ...content }) !== 'valid') {
      throw new TamperedError(`${name} was changed: the signature of its ${which} key is not valid.`);
    }
  }
  return { name, number, from, to, old: keysNamed(content.from_old_public_keys, name).ids };
}

function keysNamed(publicKeys: readonly string[], name: string): TrustedKeys {
  try {
    return new TrustedKeys(publicKeys);
  } catch {
    throw new TamperedError(`${name} was changed: it names a key that is none.`);
  }
}

/**
 * Returns whether the hand-over at this index is by the installation that the previous one names.
 * If that installation replaced its key in between, the new key names the old one, which anyone
 * could do. One of the given keys must then have signed this hand-over or a later one, and not
 * belong to an installation that had handed the account over before.
 */
function follows(found: readonly Found[], at: number, given: TrustedKeys): boolean {
  const { from, old } = found[at]!;
  const { to } = found[at - 1]!;
  if (from === to) return true;
  const former = namedIn(found.slice(0, at));
  return (
    old.includes(to) &&
    !former.includes(from) &&
    namedIn(found.slice(at)).some((id) => given.ids.includes(id) && !former.includes(id))
  );
}

function namedIn(found: readonly Found[]): string[] {
  return found.flatMap(({ from, to }) => [from, to]);
}

function termsOf(found: readonly Found[]): Term[] {
  if (found.length === 0) return [];
  return [...found, undefined].map((end, at) => {
    const begin = found[at - 1];
    // An installation may list keys of an earlier holder of the account.
    const former = namedIn(found.slice(0, at));
    const old = end === undefined ? [] : [end.from, ...end.old.filter((id) => !former.includes(id))];
    return {
      from: begin?.number ?? 0,
      to: end?.number ?? Number.POSITIVE_INFINITY,
      keyIds: new Set(begin === undefined ? old : [begin.to, ...old]),
    };
  });
}
