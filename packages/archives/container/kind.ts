import { open } from 'node:fs/promises';

export type FileKind = 'zip' | 'gzip' | 'tar' | 'json' | 'other';

/** Returns the kind of a file by its first bytes, whatever its name. */
export async function kindOf(path: string): Promise<FileKind> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(512), 0, 512, 0);
    const head = buffer.subarray(0, bytesRead);
    if (head.subarray(0, 2).toString('latin1') === 'PK') return 'zip';
    if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip';
    if (head.subarray(257, 262).toString('latin1') === 'ustar') return 'tar';
    return /^(\xef\xbb\xbf)?\s*\{/.test(head.toString('latin1')) ? 'json' : 'other';
  } finally {
    await file.close();
  }
}
