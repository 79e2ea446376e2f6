import { randomBytes } from 'node:crypto';

/** A place in a distributed trace: the content of the header `traceparent` of W3C Trace Context. */
export interface TraceContext {
  /** 32 hexadecimal digits, the same for everything that one request leads to. */
  readonly traceId: string;
  /** 16 hexadecimal digits: the step within the trace. */
  readonly spanId: string;
  /** 0 to 255; bit 0: the caller may have recorded its part, bit 1: the trace id is random. */
  readonly flags: number;
}

/** Returns undefined for an absent or malformed header, which the standard ignores. */
export function parseTraceparent(text: string | null | undefined): TraceContext | undefined {
  const [, version, traceId, spanId, flags, rest] = GRAMMAR.exec(text ?? '') ?? [];
  if (version === undefined || (version === CURRENT && rest !== undefined)) return undefined;
  return { traceId: traceId!, spanId: spanId!, flags: Number.parseInt(flags!, 16) };
}

/** Lower case alone; no id is all zeros, no version is ff. Later versions may add fields. */
const GRAMMAR = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

const CURRENT = '00';

/** Returns the form of version 00, which defines only the two lowest flags. */
export function formatTraceparent({ traceId, spanId, flags }: TraceContext): string {
  const known = (flags & 0b11).toString(16).padStart(2, '0');
  return `${CURRENT}-${traceId}-${spanId}-${known}`;
}

/** Returns the place of a following step, such as a call of another service. */
export function childTrace({ traceId, flags }: TraceContext): TraceContext {
  let spanId: string;
  do spanId = randomBytes(8).toString('hex');
  while (spanId === NO_SPAN);
  return { traceId, spanId, flags };
}

const NO_SPAN = '0'.repeat(16);

/** Returns the fields of a log line about something that belongs to this trace. */
export function traceFields(trace: TraceContext | undefined): { trace_id?: string; span_id?: string } {
  return trace === undefined ? {} : { trace_id: trace.traceId, span_id: trace.spanId };
}
