import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { type Entry, open, type ZipFile } from 'yauzl';
import type { TrustedKeys, Verdict } from '../../../core/audit/signing-key.ts';
import type { ArchivedFile } from './archive.ts';
import { FILES_PATH, MANIFEST_PATH, type SignedManifest } from './manifest.ts';

/**
 * Checks an export without a server: the manifest's signature, the hash and size of every file, and
 * the absence of other files. Returns the manifest's facts and the number of checked files. Rejects
 * with an Error whose one line names the first problem.
 */
export async function verifyArchive(path: string, keys: TrustedKeys): Promise<object> {
  const zip = await openZip(path, OPTIONS);
  try {
    const entries = await entriesOf(zip);
    const manifest = await readManifest(zip, entries);
    requireValid(keys.verify(manifest), manifest);
    const unseen = new Map(entries);
    unseen.delete(MANIFEST_PATH);
    let files = 0;
    const check = async ({ path, bytes, sha256 }: ArchivedFile): Promise<void> => {
      const entry = unseen.get(path);
      if (entry === undefined) throw new Error(`${path} is listed and not in the archive`);
      unseen.delete(path);
      const found = await hashOf(zip, entry);
      if (found.bytes !== bytes || found.sha256 !== sha256)
        throw new Error(`${path} is not what was exported`);
      files += 1;
    };
    for (const file of manifest.files) await check(file);
    const list = entries.get(FILES_PATH);
    if (list === undefined) throw new Error(`there is no ${FILES_PATH}`);
    for await (const line of createInterface({ input: await streamOf(zip, list), crlfDelay: Infinity })) {
      const file = JSON.parse(line) as ArchivedFile & { readonly missing?: true };
      if (!file.missing) await check(file);
    }
    const [extra] = unseen.keys();
    if (extra !== undefined) throw new Error(`${extra} is in the archive and not listed`);
    const { export_id, account_id, subject, snapshot, counts, key_id } = manifest;
    return { export_id, account_id, subject, snapshot, counts, key_id, files };
  } finally {
    zip.close();
  }
}

/** Entries are read later, so the file stays open. */
const OPTIONS = { lazyEntries: true, autoClose: false };
const openZip = promisify<string, typeof OPTIONS, ZipFile>(open);

async function entriesOf(zip: ZipFile): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>();
  await new Promise<void>((resolve, reject) => {
    zip.on('error', reject);
    zip.on('end', resolve);
    zip.on('entry', (entry: Entry) => {
      if (entries.has(entry.fileName)) return reject(new Error(`${entry.fileName} is in the archive twice`));
      entries.set(entry.fileName, entry);
      zip.readEntry();
    });
    zip.readEntry();
  });
  return entries;
}

async function readManifest(zip: ZipFile, entries: ReadonlyMap<string, Entry>): Promise<SignedManifest> {
  const entry = entries.get(MANIFEST_PATH);
  if (entry === undefined) throw new Error(`this is no export: it has no ${MANIFEST_PATH}`);
  const pieces: Buffer[] = [];
  for await (const piece of await streamOf(zip, entry)) pieces.push(piece as Buffer);
  const manifest = JSON.parse(Buffer.concat(pieces).toString('utf8')) as SignedManifest;
  if (manifest.object !== 'export_manifest')
    throw new Error(`${MANIFEST_PATH} is not the manifest of an export`);
  return manifest;
}

function requireValid(verdict: Verdict, { key_id }: SignedManifest): void {
  if (verdict === 'valid') return;
  throw new Error(
    verdict === 'invalid'
      ? 'the manifest was changed after it was signed'
      : `the manifest is signed with the key ${key_id}, which is not trusted here: name its public key with --key`,
  );
}

async function hashOf(zip: ZipFile, entry: Entry): Promise<{ bytes: number; sha256: string }> {
  const digest = createHash('sha256');
  let bytes = 0;
  for await (const piece of await streamOf(zip, entry)) {
    digest.update(piece as Buffer);
    bytes += (piece as Buffer).length;
  }
  return { bytes, sha256: digest.digest('hex') };
}

function streamOf(zip: ZipFile, entry: Entry): Promise<Readable> {
  return new Promise((resolve, reject) => {
    zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(stream)));
  });
}
