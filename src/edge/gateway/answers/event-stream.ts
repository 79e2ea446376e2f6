import type { CloseFrame } from '@parley/protocol/socket/streams.ts';
import type { Framing } from './answer-wire.ts';

const DATA = Buffer.from('data: ');
const END = Buffer.from('\n\n');

/** Some clients and proxies show nothing of a body before its first 2 KB. */
const PADDING_BYTES = 2_048;

/**
 * Frames as server-sent events. A frame is one line: JSON.stringify escapes line ends in strings.
 */
export const EVENT_STREAM: Framing = {
  start: Buffer.from(`:${' '.repeat(PADDING_BYTES)}\n\n`),
  filler: Buffer.from(':\n\n'),
  frame: (bytes) => [DATA, bytes, END],
  end: (close?: CloseFrame) => Buffer.from(close === undefined ? '' : `data: ${JSON.stringify(close)}\n\n`),
};
