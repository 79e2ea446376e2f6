import type { ReadMail } from '../parsed-mail.ts';
import { readMailBytes } from '../read-mail.ts';

export interface ReadParts {
  readonly mail: ReadMail;
  readonly attachments: [filename: string, contentType: string, sizeBytes: number][];
  /** What the reader did wrong with the attachments. */
  readonly problems: string[];
}

/** Reads a mail that arrives in pieces of `size` bytes. */
export async function readInPieces(source: Buffer, size: number): Promise<ReadParts> {
  const attachments: ReadParts['attachments'] = [];
  const problems: string[] = [];
  let isOpen = false;
  const mail = await readMailBytes(piecesOf(source, size), {
    begin: async ({ filename, contentType }) => {
      if (isOpen) problems.push('an attachment began within another');
      isOpen = true;
      attachments.push([filename, contentType, 0]);
    },
    write: async (bytes) => {
      if (!isOpen) problems.push('bytes came outside of an attachment');
      const last = attachments.at(-1);
      if (last !== undefined) last[2] += bytes.length;
    },
    end: async () => {
      if (!isOpen) problems.push('an attachment ended that had not begun');
      isOpen = false;
    },
  });
  if (isOpen) problems.push('an attachment did not end');
  return { mail, attachments, problems };
}

async function* piecesOf(source: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < source.length; at += size) yield source.subarray(at, at + size);
}
