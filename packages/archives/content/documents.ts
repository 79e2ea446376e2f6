import type { Container } from '../container/container.ts';
import { type ArchiveContent, type ArchiveLimits, UnreadableArchive } from '../reader.ts';

/** A parsed document, or a sentence about why it cannot be read. */
export type Parsed = { readonly value: unknown } | { readonly problem: string };

/** Reads and parses a whole file. A file that is missing or damaged is a problem as well. */
export async function readDocument(
  container: Container,
  path: string,
  limits: ArchiveLimits,
): Promise<Parsed> {
  const content = await container.open(path);
  if (content === undefined) return { problem: 'It is not in the archive.' };
  if (content.size > limits.documentBytes) {
    return { problem: `It is longer than ${limits.documentBytes} bytes.` };
  }
  try {
    return parse(await bytesOf(content), limits);
  } catch (error) {
    if (!(error instanceof UnreadableArchive)) throw error;
    return { problem: error.message };
  }
}

/** Parses JSON in UTF-8. Nesting is looked at first: deep nesting takes much memory. */
export function parse(bytes: Buffer, limits: ArchiveLimits): Parsed {
  if (isDeeper(bytes, limits.depth))
    return { problem: `It is nested more than ${limits.depth} levels deep.` };
  try {
    return { value: JSON.parse(UTF8.decode(bytes)) };
  } catch (error) {
    return { problem: `It is no valid JSON: ${(error as Error).message}.` };
  }
}

/** Without a byte order mark, which some programs write. */
const UTF8 = new TextDecoder('utf-8');

async function bytesOf({ read }: ArchiveContent): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of read()) pieces.push(piece);
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

function isDeeper(bytes: Buffer, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      for (at += 1; at < bytes.length && bytes[at] !== QUOTE; at += 1) if (bytes[at] === BACKSLASH) at += 1;
    } else if (byte === BRACKET || byte === BRACE) {
      depth += 1;
      if (depth > limit) return true;
    } else if (byte === BRACKET_END || byte === BRACE_END) depth -= 1;
  }
  return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACKET = 0x5b;
const BRACKET_END = 0x5d;
const BRACE = 0x7b;
const BRACE_END = 0x7d;

export interface Line {
  /** From 1. */
  readonly number: number;
  /** Undefined if the line is longer than the limit. */
  readonly bytes: Buffer | undefined;
}

/** Returns the lines of a file that are not empty, many at a time. */
export async function* linesOf({ read }: ArchiveContent, maxBytes: number): AsyncGenerator<Line[]> {
  let number = 1;
  let begun: Buffer[] = [];
  let begunBytes = 0;
  const ended = (rest: Buffer): Line | undefined => {
    const length = begunBytes + rest.length;
    const bytes =
      length > maxBytes ? undefined : begun.length === 0 ? rest : Buffer.concat([...begun, rest], length);
    begun = [];
    begunBytes = 0;
    const line = { number, bytes };
    number += 1;
    return bytes === undefined || !isBlank(bytes) ? line : undefined;
  };
  for await (const piece of read()) {
    const lines: Line[] = [];
    let from = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, from)) {
      const line = ended(piece.subarray(from, end));
      if (line !== undefined) lines.push(line);
      from = end + 1;
    }
    const rest = piece.subarray(from);
    begunBytes += rest.length;
    if (begunBytes > maxBytes) begun = [];
    else if (rest.length > 0) begun.push(rest);
    if (lines.length > 0) yield lines;
  }
  const last = begunBytes > 0 ? ended(Buffer.alloc(0)) : undefined;
  if (last !== undefined) yield [last];
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09);
}

const NEWLINE = 0x0a;
