import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { TrustedKeys } from './signing-key.ts';
import { type Verification, verifyExport } from './verify.ts';

export interface VerifyFileOptions {
  readonly file: string;
  /** A file of heads that were kept. */
  readonly headFile: string | undefined;
  readonly publicKeys: readonly string[] | undefined;
}

/** Verifies an export and returns what this proves. Rejects with the first violation. */
export async function verifyFile({ file, headFile, publicKeys }: VerifyFileOptions): Promise<object> {
  const heads = headFile === undefined ? [] : readHeads(await readFile(headFile, 'utf8'), headFile);
  const keptKeys = heads.flatMap(publicKeyOf);
  const keys = publicKeys ?? (keptKeys.length > 0 ? keptKeys : await publicKeysIn(file));
  const verified = await verifyExport({ lines: linesOf(file), trusted: new TrustedKeys(keys), heads });
  return { object: 'audit_verification', ...verified, remarks: remarksOn(verified, heads, publicKeys) };
}

function remarksOn(
  { head, heads_purged }: Verification,
  heads: readonly object[],
  publicKeys: readonly string[] | undefined,
): string[] {
  const remarks: string[] = [];
  if (head === null) remarks.push('Nothing is sealed yet.');
  if (heads.length === 0) {
    remarks.push('Without a kept head (--head), nothing shows whether the newest links were cut.');
    if (publicKeys === undefined) {
      remarks.push('The public key is that of the export itself: without --key, nothing shows whose it is.');
    }
  }
  if (heads_purged > 0)
    remarks.push(`${heads_purged} of the kept heads could not be compared: their links were purged.`);
  return remarks;
}

function linesOf(file: string): AsyncIterable<string> {
  return createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Number.POSITIVE_INFINITY });
}

/** Reads answers of the API and log lines with `audit_head`: one object, or one object a line. */
function readHeads(text: string, file: string): object[] {
  const values =
    parsed(text) ?? text.split('\n').flatMap((line) => (line.trim() === '' ? [] : (parsed(line) ?? [null])));
  return values.map((value) => {
    if (typeof value !== 'object' || value === null)
      throw new Error(`${file} is not a head, nor has it one on each line`);
    return 'audit_head' in value && typeof value.audit_head === 'object' ? value.audit_head! : value;
  });
}

function parsed(text: string): unknown[] | undefined {
  try {
    return [JSON.parse(text)];
  } catch {
    return undefined;
  }
}

/** Returns the keys that the export names itself: they prove that it is whole, not its signer. */
async function publicKeysIn(file: string): Promise<string[]> {
  const keys = new Set<string>();
  for await (const line of linesOf(file)) {
    const [value] = line.includes('"public_key"') ? (parsed(line) ?? []) : [];
    if (typeof value === 'object' && value !== null) for (const key of publicKeyOf(value)) keys.add(key);
  }
  return [...keys];
}

function publicKeyOf(value: object): string[] {
  return 'public_key' in value && typeof value.public_key === 'string' ? [value.public_key] : [];
}
