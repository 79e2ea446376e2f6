/**
 * Loaded into a node (`--import`): notes when each send passes the parts of the write path. On
 * request, sends the notes to the runner and starts over.
 */

import { Sender } from '../../src/core/messages/sending/send.ts';
import { WritePath } from '../../src/core/messages/timeline/write-path.ts';
import { PipelinedConnection } from '../../src/platform/db/connection/pipelined-connection.ts';
import { RedisEngine } from '../../src/platform/engine/redis/redis-engine.ts';
import { onQuestion } from './questions.ts';

/** Times are milliseconds of the system's clock. */
export interface Trace {
  readonly sends: TracedSend[];
  /** The times at which each flush asked for its numbers. */
  readonly numberings: number[];
  /** The times at which each flush wrote its statement, and had its answer. */
  readonly inserts: (readonly [beganMs: number, endedMs: number])[];
}

interface TracedSend {
  readonly clientId: string;
  /** The request was read and its sender is known. */
  readonly readMs: number;
  /** The message waits for a flush. */
  readonly queuedMs: number;
  readonly committedMs: number;
}

const trace: Trace = { sends: [], numberings: [], inserts: [] };
const readMs = new Map<string, number>();
const nowMs = () => performance.timeOrigin + performance.now();

const { send } = Sender.prototype;
Sender.prototype.send = function (this: Sender, ...args) {
  const { client_message_id: id } = args[2];
  if (id !== undefined) readMs.set(id, nowMs());
  return send.apply(this, args as never);
} as typeof send;

const { append } = WritePath.prototype;
WritePath.prototype.append = async function (this: WritePath, outgoing) {
  const clientId = outgoing.message.client_message_id ?? '';
  const queuedMs = nowMs();
  const acknowledged = await append.call(this, outgoing);
  trace.sends.push({ clientId, queuedMs, readMs: readMs.get(clientId) ?? queuedMs, committedMs: nowMs() });
  readMs.delete(clientId);
  return acknowledged;
};

const { reserve } = RedisEngine.prototype;
RedisEngine.prototype.reserve = function (this: RedisEngine<unknown>, ...args) {
  trace.numberings.push(nowMs());
  return reserve.apply(this, args);
};

const { query } = PipelinedConnection.prototype;
PipelinedConnection.prototype.query = async function (this: PipelinedConnection, ...args) {
  const beganMs = nowMs();
  const rows = await query.apply(this, args as never);
  if (args[0].name === 'insert-messages') trace.inserts.push([beganMs, nowMs()]);
  return rows;
} as typeof query;

onQuestion('trace', () => {
  process.send?.(trace);
  for (const list of Object.values(trace)) list.length = 0;
});
