import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { AskedHealth, HealthOfAll } from '../../api/health.ts';

/** The metrics of one process, as prom-client has them as JSON. */
export type MetricsOfProcess = MetricObjectWithValues<MetricValue<string>>[];

/** The answers of one node to the supervisor, and of the supervisor about all nodes. */
export interface Answers {
  readonly health: { readonly ofNode: AskedHealth; readonly ofAll: HealthOfAll };
  /** `ofAll`: text for `/metrics`. */
  readonly metrics: { readonly ofNode: MetricsOfProcess; readonly ofAll: string };
}

export type Subject = keyof Answers;

export interface Question {
  readonly type: 'question';
  readonly id: number;
  readonly subject: Subject;
}

export interface Answer {
  readonly type: 'answer';
  readonly id: number;
  readonly value: unknown;
}

/** The numbers of sockets of actors. */
export type SocketCounts = readonly (readonly [actorId: string, count: number])[];

/** The data that a node needs before it starts. */
export interface Assignment {
  readonly type: 'begin';
  /** From 1; the value of `process` in log and metrics. A restarted node keeps it. */
  readonly slot: number;
  /** Identifies the supervisor, whose nodes share some limits. */
  readonly supervisorId: string;
  /**
   * Whether this is the first node of the supervisor, which prepares the database for the others.
   */
  readonly isFirst: boolean;
  readonly databaseUrl: string;
  readonly ports: Ports;
}

/** The ports of all nodes, never 0. */
export interface Ports {
  readonly port: number;
  readonly adminPort: number | null;
}

export type ToNode =
  | Assignment
  | Question
  | Answer
  /** Makes the node unready; everything goes on as before. */
  | { readonly type: 'leave' }
  | { readonly type: 'stop'; readonly reason: string }
  /** Says whether these actors have as many sockets as they may, at all nodes together. */
  | { readonly type: 'full'; readonly actorIds: readonly string[]; readonly isFull: boolean };

export type ToSupervisor =
  | Question
  | Answer
  /** The process can hear its assignment. */
  | { readonly type: 'hears' }
  | { readonly type: 'listening' }
  /** The changed numbers of actors' sockets at this node. */
  | { readonly type: 'sockets'; readonly counts: SocketCounts }
  /** The node ends, and has counted this. */
  | { readonly type: 'ended'; readonly metrics: MetricsOfProcess };
